import { type HorizontalPodAutoscaler, type HPAScalingRules, parseQuantity } from '@gantry/objects';

/** How far usage may deviate from its target without a change, as a fraction of the target. */
export interface Tolerances {
  readonly down: number;
  readonly up: number;
}

/** The complete rules of one direction. */
export interface Rules {
  readonly windowMs: number;
  readonly selectPolicy: string;
  readonly policies: readonly Policy[];
}

/** How much may change within a period. */
export interface Policy {
  readonly type: string;
  readonly value: number;
  readonly periodMs: number;
}

export interface Behaviour {
  readonly up: Rules;
  readonly down: Rules;
}

/** Kubernetes' defaults of the controller-manager: `--horizontal-pod-autoscaler-tolerance` and `-downscale-stabilization`. */
const TOLERANCE = 0.1;
export const DOWNSCALE_WINDOW_MS = 300_000;

/** Kubernetes' defaults of `spec.behavior`, where only one direction is given. */
const DEFAULT_UP: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const DEFAULT_DOWN: HPAScalingRules = { policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };

/** The behaviour of a spec; undefined if it has none, which differs from the default rules. */
export function behaviourOf({ spec }: HorizontalPodAutoscaler): Behaviour | undefined {
  const { behavior } = spec;
  if (behavior === undefined || behavior === null) return undefined;
  return {
    up: rulesOf({ ...DEFAULT_UP, ...behavior.scaleUp }, 0),
    down: rulesOf({ ...DEFAULT_DOWN, ...behavior.scaleDown }, DOWNSCALE_WINDOW_MS),
  };
}

function rulesOf({ stabilizationWindowSeconds, selectPolicy, policies }: HPAScalingRules, windowMs: number): Rules {
  return {
    windowMs: stabilizationWindowSeconds === undefined ? windowMs : stabilizationWindowSeconds * 1000,
    selectPolicy: selectPolicy ?? 'Max',
    policies: (policies ?? []).map(({ type, value, periodSeconds }) => ({
      type,
      value,
      periodMs: periodSeconds * 1000,
    })),
  };
}

export function tolerancesOf({ spec }: HorizontalPodAutoscaler): Tolerances {
  const { scaleDown, scaleUp } = spec.behavior ?? {};
  return { down: toleranceOf(scaleDown), up: toleranceOf(scaleUp) };
}

function toleranceOf(rules: HPAScalingRules | undefined): number {
  return rules?.tolerance === undefined ? TOLERANCE : Number(parseQuantity(rules.tolerance).nano) / 1e9;
}
