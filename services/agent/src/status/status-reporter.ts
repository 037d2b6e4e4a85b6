import { type Clock, errorMessage, pause } from '@gantry/base';
import { equalJson, type Pod, type PodStatus, type Status } from '@gantry/api';
import type { ObjectClient, ObjectWrite } from '@gantry/client';
import type { Logger } from '@gantry/service';
import { type PodSource, PODS } from '../pods/pod-source.ts';

const MAX_BATCH = 100;
/** Reports that come close together travel together. */
const GATHER_MS = 5;
const RETRY_MS = 300;

export interface StatusReporterOptions {
  readonly client: ObjectClient;
  readonly pods: PodSource;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Writes pod statuses that differ from what is known, in batches, the newest of each pod only, until they are written. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #wanted = new Map<string, PodStatus>();
  #wake: (() => void) | undefined;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** Never blocks. A status that equals the known one is no report. */
  report(uid: string, status: PodStatus): void {
    const known = this.#options.pods.get(uid);
    if (known === undefined || equalJson(known.status, status)) {
      this.#wanted.delete(uid);
      return;
    }
    this.#wanted.set(uid, status);
    this.#wake?.();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      if (this.#wanted.size === 0) await this.#arrival(signal);
      await pause(clock, GATHER_MS, signal);
      if (signal.aborted) return;
      const failed = await this.#flush(signal);
      if (failed === 'some') await pause(clock, RETRY_MS, signal);
    }
  }

  #arrival(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#wake = undefined;
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  async #flush(signal: AbortSignal): Promise<'none' | 'some'> {
    const { client, pods, logger } = this.#options;
    const batch: { uid: string; status: PodStatus; write: ObjectWrite }[] = [];
    for (const [uid, status] of this.#wanted) {
      if (batch.length === MAX_BATCH) break;
      const pod = pods.get(uid);
      if (pod === undefined || equalJson(pod.status, status)) this.#wanted.delete(uid);
      else batch.push({ uid, status, write: statusWrite(pod, status) });
    }
    if (batch.length === 0) return 'none';
    try {
      const results = await client.batch(
        batch.map(({ write }) => write),
        signal,
      );
      let failed: 'none' | 'some' = 'none';
      results.forEach((result, index) => {
        const item = batch[index];
        if (item === undefined) return;
        if (result.ok) pods.observe(result.object);
        const outcome = result.ok ? 'done' : outcomeOf(result.status);
        if (outcome === 'retry') failed = 'some';
        else if (this.#wanted.get(item.uid) === item.status) this.#wanted.delete(item.uid);
        if (outcome === 'refused' && !result.ok) {
          logger.warn({ pod: item.uid, reason: result.status.message }, 'status of a pod was refused');
        }
      });
      return failed;
    } catch (error) {
      if (!signal.aborted) logger.debug({ reason: errorMessage(error) }, 'status reports were not written');
      return 'some';
    }
  }
}

/** Guarded by the version that it was computed from. */
function statusWrite(pod: Pod, status: PodStatus): ObjectWrite {
  const { name = '', namespace = '' } = pod.metadata;
  return {
    verb: 'update',
    resource: PODS,
    key: { namespace, name },
    subresource: 'status',
    object: { ...pod, status } as Pod,
  };
}

/** After a conflict the newer pod wakes its worker, which reports anew. */
function outcomeOf(status: Status): 'retry' | 'gone' | 'refused' {
  if (status.reason === 'NotFound' || status.code === 409) return 'gone';
  return (status.code ?? 500) >= 500 || status.code === 429 ? 'retry' : 'refused';
}
