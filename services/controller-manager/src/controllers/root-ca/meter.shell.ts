import { exponentialBuckets, type Metrics } from '@gantry/service';

export interface RootCaMeter {
  /** A namespace was looked at; `code` is the HTTP code of the failure, or 200. */
  synced(code: number, seconds: number): void;
}

export function rootCaMeter(metrics: Metrics): RootCaMeter {
  const total = metrics.counter('root_ca_cert_publisher_sync_total', 'Reconciles of namespaces', ['code']);
  const seconds = metrics.histogram(
    'root_ca_cert_publisher_sync_duration_seconds',
    'Time of one reconcile of a namespace',
    ['code'],
    exponentialBuckets(0.001, 2, 15),
  );
  return {
    synced: (code, took) => {
      total.inc({ code });
      seconds.observe(took, { code });
    },
  };
}
