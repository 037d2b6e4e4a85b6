import { append } from '@gantry/base';
import { invalidAll, validateLabelSelector } from '@gantry/apimachinery';
import { type ClusterTrustBundleProjection, type FieldError, invalid, required } from '@gantry/objects';
import { signerOfBundleName, trustBundleName, validateSignerName } from '../fields/signer-name.ts';
import { validateUnreservedPath } from '../fields/file-paths.ts';

/** Checks a projected source of trust bundles: one by name, or those of a signer that match a selector. */
export function validateTrustBundleSource(source: ClusterTrustBundleProjection, path: string): FieldError[] {
  const { path: target = '' } = source;
  return [
    ...validateChoice(source, path),
    ...(target === '' ? [required(`${path}.path`)] : []),
    ...validateUnreservedPath(target, `${path}.path`),
  ];
}

function validateChoice(source: ClusterTrustBundleProjection, path: string): FieldError[] {
  const { name, signerName, labelSelector } = source;
  if (name !== undefined && signerName !== undefined) {
    return [invalid(path, printed(source), 'only one of name and signerName may be used')];
  }
  if (name !== undefined) {
    const errors = name === '' ? [required(`${path}.name`, 'must be a valid object name')] : [];
    const complaints = trustBundleName(name, signerOfBundleName(name));
    append(
      errors,
      invalidAll(
        `${path}.name`,
        name,
        complaints.map((complaint) => `not a valid clustertrustbundlename: ${complaint}`),
      ),
    );
    if (labelSelector !== undefined) {
      errors.push(invalid(`${path}.labelSelector`, labelSelector, 'labelSelector must be unset if name is specified'));
    }
    return errors;
  }
  if (signerName === undefined) return [required(path, 'either name or signerName must be specified')];
  return [
    ...(signerName === '' ? [required(`${path}.signerName`, 'must be a valid signer name')] : []),
    ...validateSignerName(signerName, `${path}.signerName`),
    ...validateLabelSelector(labelSelector, `${path}.labelSelector`),
  ];
}

/** As Go prints the value. */
function printed({ name, signerName, labelSelector, optional, path = '' }: ClusterTrustBundleProjection) {
  return {
    Name: name ?? null,
    SignerName: signerName ?? null,
    LabelSelector: labelSelector ?? null,
    Optional: optional ?? null,
    Path: path,
  };
}
