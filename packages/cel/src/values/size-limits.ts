import { CelError } from './value.ts';

/** The largest result of a concatenation, in elements. Kubernetes has no bound; there such a list fills the memory. */
export const MAX_ELEMENTS = 1_000_000;

/** The longest text that a function makes of others, in UTF-16 units. */
export const MAX_CHARACTERS = 10_000_000;

export const TOO_MANY_ELEMENTS = new CelError(`result has more than ${MAX_ELEMENTS} elements`);
export const TOO_MANY_CHARACTERS = new CelError(`result has more than ${MAX_CHARACTERS} characters`);
