import { type Clock, ControlLoop, errorMessage, type Random } from '@gantry/base';
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

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
  }

  /** Works until `signal` is aborted. Needs the Node's object. */
  async run(signal: AbortSignal): Promise<void> {
    const { pods, active, clock, random } = this.#options;
    await new ControlLoop({
      subscribe: (notify) => [pods.subscribe(notify), active.onEnded(notify)],
      round: () => this.#reconcile(signal),
      retry: RETRY,
      // Each failure has been logged with its pod.
      onError: () => undefined,
      clock,
      random,
    }).run(signal);
  }

  /** A failure for one pod does not keep the others waiting. Throws the first failure. */
  async #reconcile(signal: AbortSignal): Promise<void> {
    const { pods, active, logger } = this.#options;
    const actions = planMirrors(pods.statics(), pods.mirrors(), (uid) => active.isActive(uid));
    const deleted = new Set(
      actions.flatMap((action) => (action.kind === 'delete' ? [formatKey(keyOf(action.mirror))] : [])),
    );
    const failures: unknown[] = [];
    for (const action of actions) {
      // Its place is taken until the watch shows that the one before is gone.
      if (action.kind === 'create' && deleted.has(formatKey(keyOf(action.pod)))) continue;
      try {
        await this.#perform(action, signal);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error);
        const { metadata } = action.kind === 'create' ? action.pod : action.mirror;
        const { namespace, name } = metadata;
        logger.warn({ namespace, name, reason: errorMessage(error) }, `${action.kind} of a mirror pod failed`);
      }
    }
    if (failures.length > 0) throw failures[0];
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
