import { type Clock, pause } from '@gantry/base';
import type { EtcdEvent, KeyValue } from '@gantry/chaos-checker';
import { CommandError } from '../../machine/command-error.ts';
import { CHAOS_LABEL, type ChaosEngine } from '../engine.ts';
import type { RunFolder } from './run-folder.ts';
import { startLines } from './line-process.ts';

/** How etcdctl prints a key. Fields that are 0 are absent. */
interface PrintedKey {
  readonly key: string;
  readonly value?: string;
  readonly create_revision?: number;
  readonly mod_revision: number;
  readonly version?: number;
}

interface PrintedResponse {
  readonly Header?: { readonly revision?: number };
  readonly Events?: readonly { readonly type?: number; readonly kv: PrintedKey }[] | null;
  readonly CompactRevision?: number;
}

const REOPEN_MS = 500;
const CATCH_UP_MS = 120_000;

/** A member's history as it grows. */
export interface EtcdRecording {
  readonly member: string;
  /** The last revision that was recorded. */
  readonly revision: () => number;
  /** Waits until the history has reached a revision. Throws CommandError after two minutes. */
  until(revision: number): Promise<void>;
  readonly ended: Promise<void>;
}

export interface MemberToRecord {
  readonly member: string;
  readonly fromRevision: number;
  readonly onEvents: (events: readonly EtcdEvent[]) => void;
}

/** Records what one member says of all keys from a revision on, until aborted. The watch is opened again whenever it ends. */
export function recordMember(
  engine: ChaosEngine,
  folder: RunFolder,
  { member, fromRevision, onEvents }: MemberToRecord,
  stop: AbortSignal,
): EtcdRecording {
  const { clock, clusterId } = engine.options;
  let reached = fromRevision - 1;
  let said = '';
  const name = `gantry-chaos-${clusterId}-watch-${member}`;
  const args = () => watchArguments(engine, { name, member, keys: ['', '--prefix', '--rev', String(reached + 1)] });
  const run = async (): Promise<void> => {
    while (!stop.aborted) {
      await engine.options.shell.run('docker', ['rm', '-f', name]);
      folder.etcd(member, { opened: { fromRevision: reached + 1 } });
      const { ended } = startLines('docker', args(), stop, (line) => {
        reached = recordResponse(folder, { member, onEvents }, line, reached);
      });
      said = await ended;
      await pause(clock, REOPEN_MS, stop);
    }
    await engine.options.shell.run('docker', ['rm', '-f', name]);
  };
  return {
    member,
    revision: () => reached,
    until: (revision) => untilReached(clock, { member, revision, reached: () => reached, said: () => said }),
    ended: run(),
  };
}

interface Awaited {
  readonly member: string;
  readonly revision: number;
  readonly reached: () => number;
  /** What the last watch that ended wrote. */
  readonly said: () => string;
}

async function untilReached(clock: Clock, { member, revision, reached, said }: Awaited): Promise<void> {
  const never = new AbortController().signal;
  for (const since = clock.monotonicMs(); reached() < revision; ) {
    if (clock.monotonicMs() - since > CATCH_UP_MS) {
      throw new CommandError(`the history of ${member} ends at revision ${reached()}, before ${revision}: ${said()}`);
    }
    await pause(clock, 100, never);
  }
}

/** Writes one response down. Returns the revision that the history has reached. */
function recordResponse(
  folder: RunFolder,
  { member, onEvents }: Pick<MemberToRecord, 'member' | 'onEvents'>,
  line: string,
  reached: number,
): number {
  const response = JSON.parse(line) as PrintedResponse;
  const compactRevision = response.CompactRevision ?? 0;
  if (compactRevision > reached) {
    folder.etcd(member, { compacted: { fromRevision: reached + 1, compactRevision } });
    return compactRevision - 1;
  }
  const events = (response.Events ?? []).map(eventOf);
  if (events.length === 0) return reached;
  folder.etcd(member, { revision: response.Header?.revision ?? 0, events });
  onEvents(events);
  return events.at(-1)?.modRevision ?? reached;
}

const textOf = (base64: string) => Buffer.from(base64, 'base64').toString();

function eventOf({ type, kv }: { readonly type?: number; readonly kv: PrintedKey }): EtcdEvent {
  if (type === 1) return { type: 'delete', key: textOf(kv.key), modRevision: kv.mod_revision };
  return { type: 'put', ...keyValueOf(kv) };
}

function keyValueOf(kv: PrintedKey): KeyValue {
  return {
    key: textOf(kv.key),
    value: kv.value ?? '',
    createRevision: kv.create_revision ?? 0,
    modRevision: kv.mod_revision,
    version: kv.version ?? 0,
  };
}

/** All keys at a revision, of the output of `etcdctl get "" --prefix -w json`. */
export function readKeys(text: string): readonly KeyValue[] {
  const { kvs } = JSON.parse(text) as { readonly kvs?: readonly PrintedKey[] };
  return (kvs ?? []).map(keyValueOf);
}

interface WatchTarget {
  readonly name: string;
  readonly member: string;
  /** Arguments of `etcdctl watch`. */
  readonly keys: readonly string[];
}

/** Arguments of `docker` for a watch of etcd, which prints a JSON object a line. */
export function watchArguments({ options }: ChaosEngine, { name, member, keys }: WatchTarget): readonly string[] {
  const { clusterId, etcd } = options;
  const { run, ctl } = etcd.reach(member);
  return [
    ...['run', '--rm', '--name', name, '--label', `${CHAOS_LABEL}=${clusterId}`, ...run],
    ...['--entrypoint', 'etcdctl', etcd.image, ...ctl, 'watch', ...keys, '-w', 'json'],
  ];
}
