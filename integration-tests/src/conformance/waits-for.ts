import type { ConformanceClass, ConformanceTest } from './official-tests.ts';

const IMAGES = 'the images of the official suite on the nodes';
const BACKED = 'services that pods stand behind, and their images on the nodes';

/** What tests of an area wait for, when it is something else than what most of their class wait for. */
const BY_AREA: Readonly<Record<ConformanceClass, Readonly<Record<string, string>>>> = {
  A: {},
  B: {},
  F: {
    'Preemption / PriorityClass': 'preemption by the scheduler',
  },
  R: {
    'Admission webhooks': BACKED,
    'Aggregator (APIService)': BACKED,
    'CRD conversion webhook': BACKED,
    'CRD selectable fields': BACKED,
    HostPort: 'host ports',
    'Image volume': 'image volumes of the agent',
  },
};

const BY_CLASS: Readonly<Record<ConformanceClass, string>> = {
  A: 'a test of ours',
  B: 'a test of ours',
  F: IMAGES,
  R: IMAGES,
};

/** What a test waits for that nothing of ours asks yet. */
export function waitsFor(test: ConformanceTest): string {
  return BY_AREA[test.class][test.area] ?? BY_CLASS[test.class];
}
