import type { ContainerRuntime, PauseRuntime } from './containers.ts';
import type { EngineRuntime } from './engine.ts';
import type { ImageRuntime, ImageFileRuntime, ImageVolumeRuntime } from './images.ts';
import type { LogRuntime } from './logs.ts';
import type { RuntimeObserver } from './observer.ts';
import type { PodGroupRuntime } from './pod-groups.ts';
import type { SandboxRuntime } from './sandboxes.ts';
import type { StatsRuntime } from './stats.ts';
import type { StreamRuntime } from './streams.ts';

/** The container runtime port, with CRI's terms and one small interface for each. `docker` and `hollow` implement it. */
export interface Runtime {
  readonly sandboxes: SandboxRuntime;
  readonly podGroups: PodGroupRuntime;
  readonly containers: ContainerRuntime;
  readonly pauses: PauseRuntime;
  readonly images: ImageRuntime;
  readonly imageVolumes: ImageVolumeRuntime;
  readonly imageFiles: ImageFileRuntime;
  readonly observer: RuntimeObserver;
  readonly logs: LogRuntime;
  readonly stats: StatsRuntime;
  readonly streams: StreamRuntime;
  readonly engine: EngineRuntime;
}
