export {
  CLIENT_LINE,
  ENGINE_LINE,
  ETCD_LINE,
  FAULT_LINE,
  INITIAL_KEYS,
  METRIC_LINE,
  RESTORE_LINE,
  RUN,
  UNDISTURBED_KEYS,
  type ClientLine,
  type ClientOperation,
  type ClientWatch,
  type Container,
  type EngineLine,
  type EtcdEvent,
  type EtcdLine,
  type FaultLine,
  type InitialKeys,
  type KeyValue,
  type MetricLine,
  type Observation,
  type PlannedFault,
  type RestoreLine,
  type Run,
} from './artifacts.ts';
export { ArtifactError, namesIn, readLines, readRun, type Source } from './read-artifacts.ts';
export { check, checkUntil } from './check.ts';
export { checkFences } from './check-fences.ts';
export { checkLinearizable, type Operation } from './linearizability.ts';
export { writeReport } from './report/write-report.ts';
export { exitCodeOf, formatVerdict } from './verdict-text.ts';
export type { FollowAnswer, InvariantVerdict, Verdict, VerdictSoFar, Violation } from './verdict.ts';
export { ChangeLog, changesOf, type ResourceChange, VALIDATORS, type WatchRecording } from './watch-validators.ts';
