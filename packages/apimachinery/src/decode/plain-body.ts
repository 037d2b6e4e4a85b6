import { parseJsonText, plainJson } from '../values/json-parser.ts';
import { parseYamlText } from './yaml-parser.ts';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * The value of a request's body without decoding by a schema, in linear time. Throws JsonSyntaxError, YamlSyntaxError, or StatusError
 * RequestEntityTooLarge.
 */
export function parsePlainBody(bytes: Uint8Array, syntax: 'json' | 'yaml'): unknown {
  const text = utf8.decode(bytes);
  return plainJson((syntax === 'json' ? parseJsonText(text) : parseYamlText(text)).value);
}
