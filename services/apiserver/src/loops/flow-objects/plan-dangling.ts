import { formatTime, type Instant } from '@gantry/base';
import type { FlowSchema, FlowSchemaCondition } from '@gantry/objects';

/**
 * The status of a schema with the condition Dangling, which says whether its priority level does not exist. Undefined when the condition
 * is already correct. `levels` are the names of the existing levels. The messages are those of Kubernetes.
 */
export function withDangling(
  { spec, status }: FlowSchema,
  levels: ReadonlySet<string>,
  now: Instant,
): NonNullable<FlowSchema['status']> | undefined {
  const level = spec?.priorityLevelConfiguration.name ?? '';
  const exists = levels.has(level);
  const named = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  const finding: FlowSchemaCondition = exists
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${named} and it exists` }
    : { type: 'Dangling', status: 'True', reason: 'NotFound', message: `${named} but there is no such object` };
  const conditions = status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === 'Dangling');
  const isSame =
    before?.status === finding.status && before?.reason === finding.reason && before?.message === finding.message;
  if (isSame) return undefined;
  const others = conditions.filter(({ type }) => type !== 'Dangling');
  return { ...status, conditions: [...others, { ...finding, lastTransitionTime: formatTime(now) }] };
}
