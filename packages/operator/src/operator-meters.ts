import type { ExchangeReport } from '@gantry/client';
import type { Metrics } from '@gantry/service';
import type { WebhookServerOptions } from './webhooks/webhook-server.ts';

/** What an operator reports beside its queues and reconciles. */
export interface OperatorMeter {
  readonly onExchange: (report: ExchangeReport) => void;
  readonly onActive: (controller: string, change: 1 | -1) => void;
  /** Sets how many keys a controller reconciles in parallel at most. */
  readonly setWorkers: (controller: string, workers: number) => void;
  readonly setLeading: (lease: string, leads: boolean) => void;
  readonly onWebhook: WebhookServerOptions['onRequest'];
}

/** The metrics of an operator, in the names of controller-runtime and client-go. */
export function createOperatorMeter(metrics: Metrics): OperatorMeter {
  const requests = metrics.counter('rest_client_requests_total', 'Requests to the API server', [
    'code',
    'method',
    'host',
  ]);
  const active = metrics.gauge('controller_runtime_active_workers', 'Reconciles that are running', ['controller']);
  const most = metrics.gauge('controller_runtime_max_concurrent_reconciles', 'Reconciles that may run at once', [
    'controller',
  ]);
  const leads = metrics.gauge('leader_election_master_status', 'Whether this process leads: 1 for the leader', [
    'name',
  ]);
  const reviews = metrics.counter('controller_runtime_webhook_requests_total', 'Requests to the webhooks', [
    'webhook',
    'code',
  ]);
  const latency = metrics.histogram('controller_runtime_webhook_latency_seconds', 'Time of requests to the webhooks', [
    'webhook',
  ]);
  const running = new Map<string, number>();
  return {
    onExchange: ({ code, method, host }) => requests.inc({ code, method, host }),
    onActive: (controller, change) => {
      const now = (running.get(controller) ?? 0) + change;
      running.set(controller, now);
      active.set(now, { controller });
    },
    setWorkers: (controller, workers) => {
      active.set(0, { controller });
      most.set(workers, { controller });
    },
    onWebhook: ({ webhook, code, seconds }) => {
      reviews.inc({ webhook, code });
      latency.observe(seconds, { webhook });
    },
    setLeading: (name, isLeading) => leads.set(isLeading ? 1 : 0, { name }),
  };
}
