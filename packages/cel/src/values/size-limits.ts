import { CelError } from './value.ts';

/** The maximum number of elements of a concatenation. Kubernetes has no limit; such a list fills the memory there. */
export const MAX_ELEMENTS = 1_000_000;

/** The maximum length of a text that a function creates, in UTF-16 units. */
export const MAX_CHARACTERS = 10_000_000;

export const TOO_MANY_ELEMENTS = new CelError(`result has more than ${MAX_ELEMENTS} elements`);
export const TOO_MANY_CHARACTERS = new CelError(`result has more than ${MAX_CHARACTERS} characters`);
