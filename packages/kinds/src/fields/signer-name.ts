import { append } from '@gantry/base';
import { dns1123Label, dns1123Subdomain, type FieldError, invalid, required, tooLong } from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

/** The rules for the name of a signer: a domain and a path. */
export function validateSignerName(name: string, path: string): FieldError[] {
  if (name === '') return [required(path)];
  const [domain = '', rest, ...more] = name.split('/');
  if (rest === undefined || more.length > 0) {
    return [invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")];
  }
  const errors: FieldError[] = [];
  if (domain.length > 253) errors.push(tooLong(path, 253));
  const labels = domain.split('.');
  for (const label of labels) {
    const complaints = dns1123Label(label).map((message) => `validating label ${JSON.stringify(label)}: ${message}`);
    append(errors, invalidAll(path, domain, complaints));
  }
  if (labels.length < 2) {
    errors.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'));
  }
  for (const label of rest.split('.')) {
    const complaints = dns1123Subdomain(label).map(
      (message) => `validating label ${JSON.stringify(label)}: ${message}`,
    );
    append(errors, invalidAll(path, rest, complaints));
  }
  return errors;
}
