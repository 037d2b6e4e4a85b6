/** The example of docs/extending.md: a built-in kind of a group of its own, for tests of what serves built-in kinds. */
export { type Widget, WIDGETS, widgets } from './example-kind.ts';
export { CERTIFICATE } from './example-certificate.ts';
