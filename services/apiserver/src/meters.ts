import type { Instant } from '@gantry/base';
import type { Counter, Metrics } from '@gantry/service';
import type { LogFileOptions } from './audit/log-file.ts';
import type { LegacyToken } from './auth/authn/legacy-tokens.ts';
import type { WatchCache } from './cache/index.ts';
import { REGISTRY } from './cache/object-keys.ts';
import type { RequestMetrics } from './endpoints/router/request-record.ts';
import type { MemberStatus } from '@gantry/etcd';
import { alarmsOf, memberName } from './loops/storage-maintenance/storage-warnings.ts';

/** Reports the size of the watch cache, by resource, and of the shared representations. */
export function reportCache(metrics: Metrics, cache: Pick<WatchCache, 'statistics' | 'representations'>): void {
  for (const [key, name, help] of [
    ['objects', 'objects', 'Objects in the watch cache'],
    ['bytes', 'object_bytes', 'Stored size of the objects in the watch cache'],
    ['events', 'events', 'Changes that watches can resume from'],
    ['eventBytes', 'event_bytes', 'Stored size of the objects of changes that watches can resume from'],
    ['watches', 'watches', 'Open watches of the cache'],
  ] as const) {
    metrics.gauge(`gantry_watch_cache_${name}`, help, ['resource'], (gauge) => {
      for (const held of cache.statistics()) gauge.set(held[key], { resource: held.prefix.slice(REGISTRY.length, -1) });
    });
  }
  metrics.gauge('gantry_watch_cache_representation_bytes', 'Size of cached encoded objects', [], (gauge) => {
    gauge.set(cache.representations.bytes);
  });
  metrics.gauge(
    'gantry_watch_cache_representation_bytes_limit',
    'The limit of the size of cached encoded objects',
    [],
    (gauge) => {
      gauge.set(cache.representations.limit);
    },
  );
}

export function storeRetryCounter(metrics: Metrics): Counter {
  return metrics.counter(
    'gantry_store_group_retries_total',
    'Groups of writes that were sent to etcd again after an unknown outcome',
  );
}

/** Reports size, quota and alarms of etcd's members. The returned function takes their statuses by index; undefined for a silent member. */
export function storageMeter(
  metrics: Metrics,
  quotaBytes: number,
): (members: readonly (MemberStatus | undefined)[]) => void {
  let members: readonly (MemberStatus | undefined)[] = [];
  const ofMembers = (name: string, help: string, read: (member: MemberStatus) => number) =>
    metrics.gauge(name, help, ['storage_cluster_id'], (gauge) => {
      for (const [index, member] of members.entries()) {
        if (member !== undefined) gauge.set(read(member), { storage_cluster_id: memberName(index) });
      }
    });
  ofMembers(
    'apiserver_storage_size_bytes',
    'Size of the file of each etcd member that responds',
    (member) => member.dbSizeBytes,
  );
  ofMembers(
    'gantry_storage_in_use_bytes',
    'Part of the file of each etcd member that is in use',
    (member) => member.dbSizeInUseBytes,
  );
  metrics
    .gauge('gantry_storage_quota_bytes', "Size of an etcd member's file from which on only deletes are accepted")
    .set(quotaBytes);
  metrics.gauge('gantry_storage_alarms', 'Members of etcd with this alarm', ['alarm'], (gauge) => {
    const alarms = alarmsOf(members);
    for (const alarm of ['NOSPACE', 'CORRUPT']) {
      gauge.set(alarms.filter((one) => one.alarm === alarm).length, { alarm });
    }
  });
  return (observed) => {
    members = observed;
  };
}

/** Reports the time of the newest scheduled snapshot. */
export function snapshotMeter(metrics: Metrics): (takenAt: Instant) => void {
  const time = metrics.gauge(
    'gantry_snapshot_last_success_timestamp_seconds',
    'Time of the newest scheduled snapshot; 0 in API servers that have not taken them',
  );
  time.set(0);
  return (takenAt) => time.set(takenAt / 1000);
}

export function auditCounters(metrics: Metrics): Pick<LogFileOptions, 'written' | 'lost'> {
  return {
    written: metrics.counter('apiserver_audit_event_total', 'Events that were queued for the audit log'),
    lost: metrics.counter('apiserver_audit_error_total', 'Events that could not be written to the audit log', [
      'plugin',
    ]),
  };
}

export function legacyTokenCounters(metrics: Metrics): Readonly<Record<LegacyToken['kind'], Counter>> {
  return {
    generated: metrics.counter(
      'serviceaccount_legacy_auto_token_uses_total',
      'Uses of tokens in Secrets that their ServiceAccount lists; a long request counts every 10 s',
    ),
    manual: metrics.counter('serviceaccount_legacy_manual_token_uses_total', 'Uses of tokens in other Secrets'),
    invalidated: metrics.counter(
      'serviceaccount_invalid_legacy_auto_token_uses_total',
      'Refused uses of tokens in Secrets that are marked as invalid',
    ),
  };
}

export function createRequestMetrics(metrics: Metrics): RequestMetrics {
  const total = metrics.counter('apiserver_request_total', 'Requests over REST', ['verb', 'resource', 'code']);
  const duration = metrics.histogram(
    'apiserver_request_duration_seconds',
    'Time of requests over REST, without watches and logs',
    ['verb', 'resource'],
  );
  const watchers = metrics.gauge('apiserver_longrunning_requests', 'Open watches', ['resource']);
  const open = new Map<string, number>();
  const change = (resource: string, by: number): void => {
    const value = (open.get(resource) ?? 0) + by;
    open.set(resource, value);
    watchers.set(value, { resource });
  };
  return {
    observe: ({ verb, resource, code, seconds }) => {
      total.inc({ verb, resource, code });
      if (verb !== 'watch' && verb !== 'log') duration.observe(seconds, { verb, resource });
    },
    watching: (resource) => {
      change(resource, 1);
      return () => change(resource, -1);
    },
  };
}
