import { fieldLabelsOf } from '@gantry/apimachinery';
import { expect, it } from 'vitest';
import { jobs } from './batch/job.ts';
import { resourceSlices } from './resource/resource-slice.ts';

it.each([
  [jobs, 'field label "spec.bogus" not supported for Job'],
  [resourceSlices, 'field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.bogus'],
])('reports a field that selects nothing in the words of the kind', (definition, message) => {
  expect(fieldLabelsOf(definition).refusal('spec.bogus').message).toBe(message);
});
