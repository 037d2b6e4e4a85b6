import { type Clock, ControlLoop, errorMessage, type Random } from '@gantry/base';
import { backoffAfter, ignoreReasons, type ObjectClient } from '@gantry/client';
import { formatKey, keyOf, NODES, PODS } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { NodePodView } from './node-pod-view.ts';
import { type MirrorAction, mirrorOf, planMirrors } from './plan-mirrors.ts';

const RETRY = { initialMs: 500, maxMs: 30_000 };

/** Reports which pods still exist in the engine, and when a pod has ended. */
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

/** Keeps a mirror pod in the API for each static pod of a node. The static pods run even if that fails. */
export class MirrorPods {
  readonly #options: MirrorPodsOptions;

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
  }

  /** Works until `signal` is aborted. Needs the Node object. */
  async run(signal: AbortSignal): Promise<void> {
    const { pods, active, clock, random } = this.#options;
    await new ControlLoop({
      subscribe: (notify) => [pods.subscribe(notify), active.onEnded(notify)],
      round: () => this.#reconcile(signal),
      retry: (error) => backoffAfter(error, RETRY),
      // Each failure was already logged with its pod.
      onError: () => undefined,
      clock,
      random,
    }).run(signal);
  }

  /** Continues with other pods after a failure, and then throws the first failure. */
  async #reconcile(signal: AbortSignal): Promise<void> {
    const { pods, active, logger } = this.#options;
    const actions = planMirrors(pods.statics(), pods.mirrors(), (uid) => active.isActive(uid));
    const deleted = new Set(
      actions.flatMap((action) => (action.kind === 'delete' ? [formatKey(keyOf(action.mirror))] : [])),
    );
    const failures: unknown[] = [];
    for (const action of actions) {
      // The name is taken until the watch shows that the earlier mirror is gone.
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
