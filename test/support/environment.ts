// Variables of the environment that a test sets.

/**
 * Sets variables, and returns a function that restores the previous values. Replacing `process.env` itself would not
 * work: a plain object does not set the environment that Node.js reads, such as TMPDIR.
 */
export function setEnvironment(variables: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  };
}
