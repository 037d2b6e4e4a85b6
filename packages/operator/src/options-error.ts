/** Thrown for options that cannot be used; the message begins with the field. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
}
