import type { Kind } from '../api/kinds.ts';

interface Choice {
  readonly namespace: string;
  readonly labels?: string;
  readonly fields?: string;
  readonly wide?: boolean;
}

/** The `kubectl get` with the same result as a list. */
export function kubectlGet(kind: Kind, { namespace, labels = '', fields = '', wide = false }: Choice): string {
  return words([
    'kubectl get',
    kind.id,
    namespaceFlag(kind, namespace),
    labels === '' ? '' : `-l ${quote(labels)}`,
    fields === '' ? '' : `--field-selector ${quote(fields)}`,
    wide ? '-o wide' : '',
    '--watch',
  ]);
}

/** `kubectl VERB KIND NAME` with its namespace and further arguments. */
export function kubectlOf(verb: string, kind: Kind, namespace: string, name: string, more = ''): string {
  const flag = kind.isNamespaced ? `-n ${quote(namespace)}` : '';
  return words(['kubectl', verb, kind.id, quote(name), flag, more]);
}

function namespaceFlag({ isNamespaced }: Kind, namespace: string): string {
  if (!isNamespaced) return '';
  return namespace === '' ? '-A' : `-n ${quote(namespace)}`;
}

function words(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' ');
}

/** An argument of a shell: quoted if it has characters that a shell interprets. */
export function quote(text: string): string {
  return /^[\w./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
