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
  // A name may look like a flag.
  const object = name.startsWith('-') ? [`${kind.id}/${quote(name)}`] : [kind.id, quote(name)];
  return words(['kubectl', verb, ...object, flag, more]);
}

/** `kubectl VERB NODE` with further arguments: `drain` and the like take a node's name alone. */
export function kubectlOfNode(verb: string, name: string, more = ''): string {
  // A name may look like a flag.
  return words(['kubectl', verb, name.startsWith('-') ? `node/${quote(name)}` : quote(name), more]);
}

function namespaceFlag({ isNamespaced }: Kind, namespace: string): string {
  if (!isNamespaced) return '';
  return namespace === '' ? '-A' : `-n ${quote(namespace)}`;
}

function words(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' ');
}

/** Characters that a terminal acts on when they are pasted, and those that turn the direction of text, so that it is not what it looks like. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** An argument of a shell: quoted if it has characters that a shell interprets, escaped if it has some that nobody sees. */
export function quote(text: string): string {
  if (/^[\w./:=,@%+-]+$/.test(text)) return text;
  if (text.search(UNSEEN) < 0) return `'${text.replaceAll("'", `'\\''`)}'`;
  const escaped = text.replaceAll(/['\\]/g, '\\$&').replaceAll(UNSEEN, (one) => `\\u${hexOf(one)}`);
  return `$'${escaped}'`;
}

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0');
}
