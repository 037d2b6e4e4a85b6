import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Owner } from './labels.ts';
import type { EngineInfo, EnginePrivilege, Runtime } from './runtime.ts';

interface Kept {
  readonly engine: string;
  readonly version: string;
  readonly privilege: EnginePrivilege;
}

/** What the engine gives: probed once per engine and version, kept in the state folder. */
export async function enginePrivilege(
  folder: string,
  engine: EngineInfo,
  runtime: Runtime,
  image: string,
  owner: Owner,
  signal: AbortSignal,
): Promise<EnginePrivilege> {
  const file = join(folder, 'engine.json');
  const kept = await readKept(file);
  if (kept?.engine === engine.id && kept.version === engine.version) return kept.privilege;
  if ((await runtime.images.inspectImage(image, signal)) === undefined) await runtime.images.pullImage(image, signal);
  const privilege = await runtime.engine.probe(image, owner, signal);
  const found: Kept = { engine: engine.id, version: engine.version, privilege };
  await writeFile(file, JSON.stringify(found));
  return privilege;
}

async function readKept(file: string): Promise<Kept | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Kept;
  } catch {
    // Not probed yet, or cut short while it was written: probe again.
    return undefined;
  }
}
