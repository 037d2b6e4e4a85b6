import { subdomainName } from '@gantry/objects';

/** What is wrong with the name of a bundle of a signer, or of none (''): the name says the signer, so that no other one can have it. */
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

/** The signer that the name of a bundle says; '' for none. */
export function signerOfBundleName(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(':'))).replaceAll(':', '/');
}
