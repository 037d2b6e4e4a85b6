import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { Log } from '@gantry/controller-runtime';
import type { GroupMember } from '@gantry/service';
import { OptionsError } from '../options-error.ts';
import type { Tracer } from '../tracer.ts';
import { certificateKeeper } from './certificate-keeper.ts';
import { hostsOf, publishBundle, secretKey, trustingOf, WEBHOOK_PORT, type WebhookPlace } from './webhook-options.ts';
import { webhookServer, type WebhookServerOptions } from './webhook-server.ts';

export interface ServeWebhooksOptions extends WebhookPlace {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly tracer: Tracer | undefined;
  readonly onWebhook: WebhookServerOptions['onRequest'];
}

/** The parts of an operator that serve its webhooks. */
export interface ServedWebhooks {
  readonly members: readonly GroupMember[];
  /** Throws while they are not served. */
  readonly checkServed: () => void;
}

/** Serves the webhooks of an operator, with a certificate that it keeps valid and trusted. */
export function serveWebhooks(options: ServeWebhooksOptions): ServedWebhooks {
  const { webhooks, client, clock, random, log, tracer, onWebhook } = options;
  const { admission = [], conversions = [], host = '0.0.0.0', port = WEBHOOK_PORT } = webhooks;
  const server = webhookServer({
    host,
    port,
    admission,
    conversions,
    log,
    tracer,
    onRequest: onWebhook,
    monotonicMs: () => clock.monotonicMs(),
  });
  const trusting = trustingOf(options);
  const keeper = certificateKeeper({
    client,
    secret: secretKey(options),
    hosts: hostsOf(options),
    publish: (bundle, signal) => publishBundle(client, trusting, bundle, signal),
    onServe: server.serve,
    clock,
    random,
    log,
  });
  const checkServed = (): void => {
    if (!server.isListening()) throw new OptionsError('webhooks: there is no certificate yet');
  };
  return { members: [server, keeper], checkServed };
}
