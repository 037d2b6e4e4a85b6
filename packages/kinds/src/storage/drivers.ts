import { type FieldError, invalid, qualifiedName, required, tooLong } from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

const MAX_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;

/** Checks the provisioner: a qualified name; capitals are allowed. */
export function validateProvisioner(name: string | undefined, path: string): FieldError[] {
  if (name === undefined || name === '') return [required(path)];
  return invalidAll(path, name.toLowerCase(), qualifiedName(name.toLowerCase()));
}

/** Checks the parameters of a storage driver; with 'some', at least one is required. */
export function validateParameters(
  parameters: Readonly<Record<string, string>> | undefined,
  path: string,
  least: 'none' | 'some' = 'none',
): FieldError[] {
  const entries = Object.entries(parameters ?? {});
  if (entries.length > MAX_PARAMETERS) return [tooLong(path, MAX_PARAMETERS)];
  const errors = entries.filter(([key]) => key === '').map(([key]) => invalid(path, key, 'field can not be empty.'));
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (size > MAX_PARAMETER_BYTES) errors.push(tooLong(path, MAX_PARAMETER_BYTES));
  if (least === 'some' && entries.length === 0) errors.push(required(path, 'must contain at least one key/value pair'));
  return errors;
}
