import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Descriptions by schema (`core.v1.Pod`) and field. The field '' has the description of the schema itself. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * Extracts the descriptions of Kubernetes' API from the type declarations of @kubernetes/client-node. The package is installed at build
 * time, but not at run time. It has no descriptions of fields whose type is another schema.
 */
export function extractDescriptions(schemas: readonly string[]): Descriptions {
  const folder = modelsFolder();
  const out: Record<string, Record<string, string>> = {};
  for (const schema of schemas) {
    const file =
      folder === undefined
        ? undefined
        : modelNames(schema)
            .map((n) => join(folder, n))
            .find((f) => existsSync(f));
    if (file !== undefined) out[schema] = parseDeclaration(readFileSync(file, 'utf8'));
  }
  return out;
}

function modelsFolder(): string | undefined {
  try {
    const main = createRequire(import.meta.url).resolve('@kubernetes/client-node');
    return join(dirname(main), 'gen/models');
  } catch {
    // The package is not installed, so there are no descriptions.
    return undefined;
  }
}

/** Possible names of the model: `V1Pod`, or `CoreV1Event` if two groups have a kind of that name. */
function modelNames(schema: string): readonly string[] {
  const [group = '', version = '', kind = ''] = schema.split('.');
  const pascal = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
  const name = `${pascal(version)}${kind}.d.ts`;
  return [`${pascal(group)}${name}`, name];
}

/** Parses the comments of one class and of its members. */
export function parseDeclaration(text: string): Record<string, string> {
  const out: Record<string, string> = {};
  const comments = /\/\*\*\n\s*\* (.*)\n\s*\*\/\n\s*(?:export declare class \w+|'?_?(\w+)'?\??:)/g;
  for (const [, sentence = '', field = ''] of text.matchAll(comments)) {
    // Line breaks were flattened to spaces. Two spaces are mostly original, but before these words they were the end of a paragraph.
    const plain = sentence
      .replaceAll(/\\(['"`])/g, '$1')
      .replaceAll('  Populated by the system', '\n\nPopulated by the system');
    out[field] = plain.trim();
  }
  return out;
}
