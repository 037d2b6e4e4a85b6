import { type EditableRun, type ObjectPut, putsOf } from './editable-run.ts';

/** A defect, put into a recorded run, that an invariant must find. */
export interface Mutation {
  readonly invariant: string;
  readonly what: string;
  /** Changes the run. Returns files beside those of the run. */
  mutate(run: EditableRun): Readonly<Record<string, readonly object[]>> | undefined;
}

/** `mutate` returns files beside those of the run, or anything else for none. */
export function mutation(invariant: string, what: string, mutate: (run: EditableRun) => unknown): Mutation {
  return {
    invariant,
    what,
    mutate: (run) => {
      const more = mutate(run);
      return typeof more === 'object' && more !== null ? (more as Record<string, readonly object[]>) : undefined;
    },
  };
}

/** Puts of running pods that are bound, in order. */
export function boundPods(run: EditableRun, prefix: string): readonly ObjectPut[] {
  return putsOf(run, `pods/${prefix}`).filter(({ object }) => object.spec?.nodeName !== undefined);
}
