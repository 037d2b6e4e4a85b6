import { readFile, stat } from 'node:fs/promises';
import { loadAllYaml } from '@kubernetes/client-node';
import { errorMessage } from '@gantry/base';
import type { CustomResourceDefinition } from '@gantry/objects';
import { typesOf } from './types-of.ts';

const USAGE =
  'usage: npx @gantry/operator types FILE...\n\nPrints TypeScript for the CustomResourceDefinitions in the files.\n';
const MAX_BYTES = 32 * 1024 * 1024;

/** Thrown for a file that cannot be used; the message names it. */
class FileError extends Error {
  override readonly name = 'FileError';
}

async function definitionsIn(file: string): Promise<readonly CustomResourceDefinition[]> {
  if ((await stat(file)).size > MAX_BYTES)
    throw new FileError(`${file}: is larger than ${MAX_BYTES / 1024 / 1024} MiB`);
  const documents = loadAllYaml(await readFile(file, 'utf8')) as readonly unknown[];
  const all = documents.flatMap((document) => (isList(document) ? document.items : [document]));
  const found = all.filter(isDefinition);
  if (found.length === 0) throw new FileError(`${file}: has no CustomResourceDefinition of apiextensions.k8s.io/v1`);
  return found;
}

function isList(document: unknown): document is { readonly items: readonly unknown[] } {
  return typeof document === 'object' && document !== null && 'items' in document && Array.isArray(document.items);
}

function isDefinition(document: unknown): document is CustomResourceDefinition {
  if (typeof document !== 'object' || document === null || !('kind' in document)) return false;
  const { kind, apiVersion, spec } = document as Partial<CustomResourceDefinition>;
  if (kind !== 'CustomResourceDefinition' || apiVersion !== 'apiextensions.k8s.io/v1') return false;
  return typeof spec?.names?.kind === 'string' && typeof spec.names.plural === 'string' && Array.isArray(spec.versions);
}

/** What `npx @gantry/operator` runs. Resolves with the exit code. */
export async function runCli([command, ...files]: readonly string[]): Promise<number> {
  if (command !== 'types' || files.length === 0) {
    process.stderr.write(USAGE);
    return 2;
  }
  try {
    const definitions = await Promise.all(files.map(definitionsIn));
    process.stdout.write(typesOf(definitions.flat()));
    return 0;
  } catch (error) {
    process.stderr.write(`${errorMessage(error)}\n`);
    return 1;
  }
}
