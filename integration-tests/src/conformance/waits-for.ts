import type { ConformanceClass, ConformanceTest } from './official-tests.ts';

const OWN_TEST = 'a test of ours';

/** What tests of an area wait for, when it is something that Gantry does not have yet. */
const BY_AREA: Readonly<Record<ConformanceClass, Readonly<Record<string, string>>>> = {
  A: {},
  B: {},
  F: {
    'Preemption / PriorityClass': 'preemption by the scheduler',
  },
  R: {
    'Image volume': 'image volumes of the agent',
  },
};

/** What a test waits for that nothing of ours asks yet. */
export function waitsFor(test: ConformanceTest): string {
  return BY_AREA[test.class][test.area] ?? OWN_TEST;
}
