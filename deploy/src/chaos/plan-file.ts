import { z } from 'zod';
import { CommandError } from '../machine/command-error.ts';
import type { FaultKind, PlannedFault } from './fault.ts';

const MAX_PLAN_CHARACTERS = 4 * 2 ** 20;
const MAX_FAULTS = 10_000;
const HOUR_MS = 3_600_000;

const ms = z.number().int().min(0).max(HOUR_MS);
const PLANNED = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]{1,32}$/),
  kind: z.string(),
  target: z.string(),
  peer: z.string().optional(),
  round: z.number().int().min(0),
  atMs: ms,
  durationMs: ms,
  choice: z.number().min(0).lt(1),
});
const PLAN = z.strictObject({ format: z.literal(1), faults: z.array(PLANNED).min(1).max(MAX_FAULTS) });

/** A schedule as text, which `parsePlan` reads. */
export function formatPlan(faults: readonly PlannedFault[]): string {
  return `{\n  "format": 1,\n  "faults": [\n${faults.map((fault) => `    ${JSON.stringify(fault)}`).join(',\n')}\n  ]\n}\n`;
}

/** Reads the text of a plan file. Throws CommandError that names the field. */
export function parsePlan(
  text: string,
  { kinds, impossible }: { readonly kinds: readonly FaultKind[]; readonly impossible: ReadonlyMap<string, string> },
): readonly PlannedFault[] {
  if (text.length > MAX_PLAN_CHARACTERS) throw new CommandError('--plan: the file has more than 4 Mi characters');
  const parsed = PLAN.safeParse(parseJson(text));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CommandError(`--plan: ${issue?.path.join('.') || 'the file'}: ${issue?.message}`);
  }
  const ids = new Set<string>();
  parsed.data.faults.forEach(({ id, kind, target, peer }, index) => {
    const field = `--plan: faults.${index}`;
    const known = kinds.find((one) => one.kind === kind);
    const why = impossible.get(kind);
    if (why !== undefined) throw new CommandError(`${field}.kind: ${kind} is not possible here: ${why}`);
    if (known === undefined) throw new CommandError(`${field}.kind: there is no ${kind}`);
    if (!known.targets.includes(target)) {
      throw new CommandError(`${field}.target: ${kind} has the targets ${known.targets.join(', ')}, not ${target}`);
    }
    const peers = known.peersOf?.(target) ?? [];
    if (peers.length > 0 && (peer === undefined || !peers.includes(peer))) {
      throw new CommandError(`${field}.peer: ${kind} of ${target} has the peers ${peers.join(', ')}, not ${peer}`);
    }
    if (ids.has(id)) throw new CommandError(`${field}.id: ${id} is given twice`);
    ids.add(id);
  });
  return parsed.data.faults;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError('--plan: the file is not JSON');
  }
}
