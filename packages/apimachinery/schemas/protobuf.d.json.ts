/** Message -> field -> number, type and, for repeated fields, `repeated`. */
declare const messages: { readonly [message: string]: { readonly [field: string]: readonly (string | number)[] } };
export = messages;
