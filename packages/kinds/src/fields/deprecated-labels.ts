import {
  ARCH_LABEL,
  BETA_ARCH_LABEL,
  BETA_INSTANCE_TYPE_LABEL,
  BETA_OS_LABEL,
  BETA_REGION_LABEL,
  BETA_ZONE_LABEL,
  CONTROL_PLANE_LABEL,
  INSTANCE_TYPE_LABEL,
  MASTER_LABEL,
  memberOf,
  OS_LABEL,
  REGION_LABEL,
  ZONE_LABEL,
} from '@gantry/objects';

const ADVICE: Readonly<Record<string, string>> = {
  [BETA_ARCH_LABEL]: `deprecated since v1.14; use "${ARCH_LABEL}" instead`,
  [BETA_OS_LABEL]: `deprecated since v1.14; use "${OS_LABEL}" instead`,
  [BETA_REGION_LABEL]: `deprecated since v1.17; use "${REGION_LABEL}" instead`,
  [BETA_ZONE_LABEL]: `deprecated since v1.17; use "${ZONE_LABEL}" instead`,
  [BETA_INSTANCE_TYPE_LABEL]: `deprecated since v1.17; use "${INSTANCE_TYPE_LABEL}" instead`,
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods': 'deprecated since v1.22; use Taints and Tolerations instead',
  [MASTER_LABEL]: `use "${CONTROL_PLANE_LABEL}" instead`,
};

/** Advice for a deprecated node label; undefined for other labels. */
export function oldLabelAdvice(label: string): string | undefined {
  return memberOf(ADVICE, label);
}
