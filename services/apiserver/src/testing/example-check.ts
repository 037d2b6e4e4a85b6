import { type AdmissionCheck, isCore } from '../admission/check/admission-check.ts';
import { refuse } from '../admission/check/refuse.ts';

const ANNOTATION = 'example.dev/contact';

/** A new namespace must name a contact. */
export const namespaceContact: AdmissionCheck = {
  name: 'NamespaceContact',
  validate: (request) => {
    if (request.operation !== 'create' || !isCore(request, 'namespaces')) return;
    const { annotations } = request.object.metadata;
    if (annotations?.[ANNOTATION] === undefined) throw refuse(request, `annotation ${ANNOTATION} is missing`);
  },
};
