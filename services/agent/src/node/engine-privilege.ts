import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfThere } from '../files/if-there.ts';
import type { Owner } from '../runtime/labels.ts';
import type { EngineInfo, EnginePrivilege } from '../runtime/engine.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** The version of the file's format. Older results are ignored: they did not distinguish engines without the privilege. */
const FORM = 2;

interface ProbeResult {
  readonly form: typeof FORM;
  readonly engine: string;
  readonly version: string;
  readonly privilege: EnginePrivilege;
}

/** Parameters for probing an engine. */
interface ProbeOptions {
  readonly runtime: Runtime;
  readonly image: string;
  /** The owner of the probe's container. */
  readonly owner: Owner;
}

/** The privilege that the engine gives. It is probed once per engine and version, and stored in the state folder. */
export async function enginePrivilege(
  folder: string,
  engine: EngineInfo,
  { runtime, image, owner }: ProbeOptions,
  signal: AbortSignal,
): Promise<EnginePrivilege> {
  const file = join(folder, 'engine.json');
  const known = await readResult(file);
  if (known?.form === FORM && known.engine === engine.id && known.version === engine.version) return known.privilege;
  if ((await runtime.images.inspectImage(image, signal)) === undefined)
    await runtime.images.pullImage(image, 'anonymous', signal);
  const privilege = await runtime.engine.probe(image, owner, signal);
  const found: ProbeResult = { form: FORM, engine: engine.id, version: engine.version, privilege };
  await writeFile(file, JSON.stringify(found));
  return privilege;
}

async function readResult(file: string): Promise<ProbeResult | undefined> {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as ProbeResult;
  } catch {
    // The file is incomplete: probe again.
    return undefined;
  }
}
