import { errorMessage } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { EventRecorder } from '@gantry/controller-runtime';
import { type BackOffEntry, isImageFailure } from '../plan/back-off.ts';
import type { PodPlan, StopContainer, Waiting } from '../plan/pod-plan.ts';
import type { ProbeKind } from '../probes/probe-counter.ts';
import type { ProbeFailure } from '../probes/probe-types/probe-type.ts';
import { isAgentError } from '../runtime/agent-error.ts';
import type { PodState } from '../runtime/observer.ts';
import { allContainersOf } from '../spec/pod-containers.ts';
import type { PodRejection } from '../spec/pod-rejection.ts';
import { containerPath, formatPod } from '../spec/pod-names.ts';
import type { WorkerMemory } from './worker-memory.ts';

/** Records the Events of one pod, like the kubelet. */
export class PodEvents {
  readonly #recorder: EventRecorder;
  /** By container: the last recorded waiting reason. */
  readonly #recorded = new Map<string, string>();
  #rejection: string | undefined;
  #fault: string | undefined;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Records once per attempt and failure that a container is in back-off. */
  waiting(pod: Pod, state: PodState | undefined, plan: PodPlan, memory: WorkerMemory): void {
    for (const [name, waiting] of plan.waiting) {
      const attempt = state?.containers.find((container) => container.name === name)?.id ?? '';
      const key = `${waiting.reason}/${attempt}/${memory.backOffs.get(name)?.failures ?? 0}`;
      if (this.#recorded.get(name) === key) continue;
      this.#recorded.set(name, key);
      this.#backOff(pod, name, waiting);
    }
  }

  /** Records once that the node rejects the pod. */
  rejected(pod: Pod, { reason, message }: PodRejection): void {
    if (this.#rejection === reason) return;
    this.#rejection = reason;
    this.#recorder.event(pod, 'Warning', reason, message);
  }

  /** Records once that an annotation is invalid and ignored. */
  invalidAnnotation(pod: Pod, message: string): void {
    if (this.#fault === message) return;
    this.#fault = message;
    this.#recorder.event(pod, 'Warning', 'InvalidAnnotation', message);
  }

  unhealthy(pod: Pod, container: string, probe: ProbeKind, { message, cause }: ProbeFailure): void {
    const title = `${probe.charAt(0).toUpperCase()}${probe.slice(1)}`;
    const path = containerPath(pod, container);
    const what = cause === 'error' ? 'errored and resulted in failure state' : 'failed';
    this.#recorder.event(pod, 'Warning', 'Unhealthy', `${title} probe ${what}: ${message}`, path);
  }

  probeWarning(pod: Pod, container: string, probe: ProbeKind, message: string): void {
    const title = `${probe.charAt(0).toUpperCase()}${probe.slice(1)}`;
    const path = containerPath(pod, container);
    this.#recorder.event(pod, 'Warning', 'ProbeWarning', `${title} probe warning: ${message}`, path);
  }

  /** Omits the hook's own message, because it may contain data that only the pod may read. */
  hookFailed(pod: Pod, container: string, hook: 'PostStart' | 'PreStop'): void {
    this.#recorder.event(pod, 'Warning', `Failed${hook}Hook`, `${hook}Hook failed`, containerPath(pod, container));
  }

  stopping(pod: Pod, { reason, message, name }: StopContainer): void {
    // A changed sandbox concerns the pod, not a single container.
    const path = reason === 'SandboxChanged' ? undefined : containerPath(pod, name);
    this.#recorder.event(pod, 'Normal', reason, message, path);
  }

  /** Without `container`, the sandbox was paused. */
  unpaused(pod: Pod, container: string | undefined): void {
    const what = container === undefined ? 'Pod sandbox' : `Container ${container}`;
    const path = container === undefined ? undefined : containerPath(pod, container);
    this.#recorder.event(pod, 'Warning', 'Unpaused', `${what} was paused outside of the cluster and goes on`, path);
  }

  startFailed(pod: Pod, container: string, entry: BackOffEntry): void {
    const message = `Error: ${isImageFailure(entry) ? entry.reason : entry.message}`;
    this.#recorder.event(pod, 'Warning', 'Failed', message, containerPath(pod, container));
  }

  mountFailed(pod: Pod, error: unknown): void {
    const reason = isAgentError(error, 'FailedMapVolume') ? error.code : 'FailedMount';
    this.#recorder.event(pod, 'Warning', reason, errorMessage(error));
  }

  sandboxFailed(pod: Pod, message: string): void {
    this.#recorder.event(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${message}`);
  }

  #backOff(pod: Pod, name: string, { reason }: Waiting): void {
    const path = containerPath(pod, name);
    if (reason === 'CrashLoopBackOff') {
      const message = `Back-off restarting failed container ${name} in pod ${formatPod(pod)}`;
      this.#recorder.event(pod, 'Warning', 'BackOff', message, path);
    } else if (reason === 'ImagePullBackOff') {
      const image = allContainersOf(pod).find(({ container }) => container.name === name)?.container.image ?? '';
      this.#recorder.event(pod, 'Normal', 'BackOff', `Back-off pulling image "${image}"`, path);
      this.#recorder.event(pod, 'Warning', 'Failed', 'Error: ImagePullBackOff', path);
    }
  }
}
