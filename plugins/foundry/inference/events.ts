// Server-sent events: the data of each, as its lines come in. HTML Living Standard, event stream format.

/** The longest event that is waited for. */
const MAX_EVENT_CHARS = 1_048_576;

/** The data of each event; comments and other fields are passed over. An event that never ends is an error. */
export async function* eventsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  let held = 0;
  for await (const piece of bytes) {
    rest += decoder.decode(piece, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
        held = 0;
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
        held += line.length;
      }
    }
    if (held + rest.length > MAX_EVENT_CHARS) throw new Error('an event is too long');
  }
  // What is left without its empty line was cut off, but for a last event that says it is the last.
  const last = rest.startsWith('data:') ? rest.slice(5).trim() : data.join('\n');
  if (last === '[DONE]') yield last;
}
