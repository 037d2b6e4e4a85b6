import { append } from '@gantry/base';
import {
  dns1123Label,
  dns1123Subdomain,
  type FieldError,
  invalid,
  required,
  subdomainName,
  tooLong,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

/** Checks the name of a signer: a domain and a path. */
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

/**
 * Errors in the name of a trust bundle with or without ('') a signer. The name contains the signer, so that no other signer can have that
 * name.
 */
export function trustBundleName(name: string, signerName: string): readonly string[] {
  if (signerName === '') {
    if (name.includes(':')) return ['ClusterTrustBundle without signer name must not have ":" in its name'];
    return subdomainName(name, false);
  }
  const prefix = `${signerName.replaceAll('/', ':')}:`;
  if (!name.startsWith(prefix))
    return [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`];
  return subdomainName(name.slice(prefix.length), false);
}

/** The signer in the name of a bundle; '' without one. */
export function signerOfBundleName(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(':'))).replaceAll(':', '/');
}
