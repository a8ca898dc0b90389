// The type of bodies in tests.

/** JSON whose members a test reads by name, unchecked: what JSON.parse says that it returns. */
export type Body = ReturnType<typeof JSON.parse>;
