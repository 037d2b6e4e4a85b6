import { backoffMs, type Clock, errorMessage, type Random, Signal } from '@gantry/base';
import { ignoreReasons, type ObjectClient } from '@gantry/client';
import { formatKey, keyOf, NODES, PODS } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { NodePodView } from './node-pod-view.ts';
import { type MirrorAction, mirrorOf, planMirrors } from './plan-mirrors.ts';

const RETRY = { initialMs: 500, maxMs: 30_000 };

/** Says which pods still have something in the engine, and when one has ended. */
export interface ActivePods {
  isActive(uid: string): boolean;
  onEnded(listener: (uid: string) => void): () => void;
}

export interface MirrorPodsOptions {
  readonly node: string;
  readonly pods: Pick<NodePodView, 'statics' | 'mirrors' | 'subscribe'>;
  readonly active: ActivePods;
  readonly client: Pick<ObjectClient, 'get' | 'create' | 'delete'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Keeps a mirror in the API for each static pod of a node. The pods run whether or not that succeeds. */
export class MirrorPods {
  readonly #options: MirrorPodsOptions;
  readonly #work = new Signal();

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
  }

  /**
   * Works until `signal` is aborted. Needs the Node's object. It is no `repeatOnSignal`: a change of one pod does not wait for the delay
   * after another one's failure.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { pods, active, clock, random } = this.#options;
    const unsubscribe = pods.subscribe(this.#work.notify);
    const unfollow = active.onEnded(this.#work.notify);
    let failures = 0;
    try {
      while (!signal.aborted) {
        this.#work.clear();
        failures = (await this.#reconcile(signal)) === 'done' ? 0 : failures + 1;
        await this.#work.wait(clock, failures === 0 ? Infinity : backoffMs(RETRY, failures, random), signal);
      }
    } finally {
      unsubscribe();
      unfollow();
    }
  }

  async #reconcile(signal: AbortSignal): Promise<'done' | 'failed'> {
    const { pods, active, logger } = this.#options;
    const actions = planMirrors(pods.statics(), pods.mirrors(), (uid) => active.isActive(uid));
    const deleted = new Set(
      actions.flatMap((action) => (action.kind === 'delete' ? [formatKey(keyOf(action.mirror))] : [])),
    );
    let outcome: 'done' | 'failed' = 'done';
    for (const action of actions) {
      // Its place is taken until the watch shows that the one before is gone.
      if (action.kind === 'create' && deleted.has(formatKey(keyOf(action.pod)))) continue;
      try {
        await this.#perform(action, signal);
      } catch (error) {
        if (signal.aborted) return 'failed';
        outcome = 'failed';
        const { metadata } = action.kind === 'create' ? action.pod : action.mirror;
        const { namespace, name } = metadata;
        logger.warn({ namespace, name, reason: errorMessage(error) }, `${action.kind} of a mirror pod failed`);
      }
    }
    return outcome;
  }

  async #perform(action: MirrorAction, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#options;
    if (action.kind === 'create') {
      const object = await client.get(NODES, { namespace: '', name: node }, signal);
      await client.create(PODS, mirrorOf(action.pod, { name: node, uid: object.metadata.uid ?? '' }), signal);
      return;
    }
    const { name = '', namespace = '', uid = '' } = action.mirror.metadata;
    const request = { gracePeriodSeconds: 0, uid };
    await ignoreReasons(client.delete(PODS, { namespace, name }, request, signal), ['NotFound', 'Conflict']);
  }
}
