import ts from 'typescript';
import type { SourceFile } from './shape/source-files.ts';

/** A name that several files write out, with the places of its literals. */
export interface RepeatedName {
  readonly name: string;
  readonly places: readonly { readonly path: string; readonly line: number }[];
}

/**
 * A name in a domain of Kubernetes or of ours, or a subdomain with its slash, with which such names begin. Versions of API groups
 * (`gantry.dev/v1`) are none.
 */
const NAME =
  /^(?!kubernetes\.io\/$)(?:[a-z0-9-]+\.)*(?:kubernetes\.io|gantry\.dev)\/(?!v\d+(?:(?:alpha|beta)\d+)?$)[\w./-]*$/;

/**
 * The names of labels, annotations, taints, finalizers, signers and the like that stand as whole literals in two or more of the
 * files, in the order of the alphabet. A name within a longer text, or in a comment, is not counted.
 */
export function repeatedNames(files: readonly SourceFile[]): readonly RepeatedName[] {
  const places = new Map<string, { readonly path: string; readonly line: number }[]>();
  for (const { path, text } of files) {
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteralLike(node) && NAME.test(node.text)) {
        const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
        places.set(node.text, [...(places.get(node.text) ?? []), { path, line }]);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return [...places]
    .filter(([, found]) => new Set(found.map(({ path }) => path)).size > 1)
    .map(([name, found]) => ({ name, places: found }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
