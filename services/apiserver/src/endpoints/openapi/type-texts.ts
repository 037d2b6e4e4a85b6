type Texts = Readonly<Record<string, string>>;

const API_VERSION = 'The group and version of the schema of this object.';
const KIND = 'The kind of this object: the name of its schema.';
const ENVELOPE: Texts = { apiVersion: API_VERSION, kind: KIND };

/**
 * Descriptions of types, and of their fields, that have none in the declarations of the other descriptions. `''` is the type itself. The
 * texts are Gantry's own. Fields of JSONSchemaProps have no description in Kubernetes either, since JSON Schema defines them.
 */
const TYPE_TEXTS: Readonly<Record<string, Texts>> = {
  'authentication.v1.TokenRequest': { '': 'TokenRequest asks for a token of a service account.', ...ENVELOPE },
  'authentication.v1.TokenRequestSpec': {
    '': 'TokenRequestSpec says what the token is to be good for.',
    audiences: 'Whom the token is for. Who checks a token refuses those for others. Empty for the API server.',
    expirationSeconds: 'How long the token is to be good for. The token may end at another time, which the status has.',
  },
  'authentication.v1.TokenRequestStatus': {
    '': 'TokenRequestStatus has the token that was issued.',
    token: 'The token.',
  },
  'authentication.v1.BoundObjectReference': {
    '': 'BoundObjectReference names the object that a token ends with.',
    apiVersion: 'The group and version of the object.',
    kind: 'The kind of the object: Pod, Node or Secret.',
    name: 'The name of the object.',
    uid: 'The uid of the object: the token is not good for a later object of the name.',
  },
  'autoscaling.v1.Scale': {
    '': 'Scale is how many replicas of something are wanted, and how many there are.',
    ...ENVELOPE,
  },
  'autoscaling.v1.ScaleSpec': {
    '': 'ScaleSpec says how many replicas are wanted.',
    replicas: 'How many replicas are wanted.',
  },
  'autoscaling.v1.ScaleStatus': {
    '': 'ScaleStatus says how many replicas there are.',
    replicas: 'How many replicas were observed.',
    selector: 'The label selector of the pods that are counted, in the form that queries have.',
  },
  'policy.v1.Eviction': {
    '': 'Eviction asks for the deletion of a pod, which its disruption budgets may refuse. It is created as subresource of the pod.',
    ...ENVELOPE,
  },
  'meta.v1.APIResource': {
    '': 'APIResource describes a resource: its name, its kind and what can be done with it.',
    categories: 'Groups of resources that clients can ask for by one name, as `all`.',
    group: 'The group of the kind, where it is not that of the list.',
    kind: 'The kind of the objects.',
    name: 'The plural name, as paths have it.',
    namespaced: 'Whether its objects are in namespaces.',
    shortNames: 'Short names that clients take for the resource.',
    singularName: 'The singular name.',
    storageVersionHash: 'Changes with the version in which objects are stored. Clients should only compare it.',
    verbs: 'What can be done with the resource.',
    version: 'The version of the kind, where it is not that of the list.',
  },
  'meta.v1.APIResourceList': {
    '': 'APIResourceList has the resources of a group and version.',
    ...ENVELOPE,
    groupVersion: 'The group and version of the resources.',
    resources: 'The resources, and their subresources.',
  },
  'meta.v1.FieldsV1': {
    '': 'FieldsV1 is a set of fields, as a tree: `f:NAME` is a field, `k:KEYS` an item of a list by its keys, `v:VALUE` one by its value, and `.` the node itself.',
  },
  'meta.v1.MicroTime': { '': 'MicroTime is a time to the microsecond, in the form of RFC 3339.' },
  'meta.v1.Patch': { '': 'Patch is the body of a PATCH request, in the form that its media type names.' },
  'meta.v1.Time': { '': 'Time is a time to the second, in the form of RFC 3339.' },
  'meta.v1.WatchEvent': {
    '': 'WatchEvent is one event of a watch.',
    type: 'What happened: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.',
  },
  'intstr.IntOrString': { '': 'IntOrString is a number or a text, such as a port by its number or its name.' },
  'resource.Quantity': {
    '': 'Quantity is an amount: a decimal number with a suffix for powers of ten (m, k, M, G, T, P, E), for powers of two (Ki, Mi, Gi, Ti, Pi, Ei), or with an exponent.',
  },
  'runtime.RawExtension': { '': 'RawExtension is an object of any kind.' },
  'apiextensions.v1.CustomResourceSubresourceStatus': {
    '': 'CustomResourceSubresourceStatus gives a custom resource the subresource status. It has no settings.',
  },
  'apiextensions.v1.ExternalDocumentation': {
    description: 'What is documented there.',
    url: 'Where the documentation is.',
  },
  'apiextensions.v1.JSON': { '': 'JSON is any value of JSON.' },
  'apiextensions.v1.JSONSchemaPropsOrArray': { '': 'JSONSchemaPropsOrArray is a schema, or a list of them.' },
  'apiextensions.v1.JSONSchemaPropsOrBool': {
    '': 'JSONSchemaPropsOrBool is a schema, true for any value, or false for none.',
  },
  'apiextensions.v1.JSONSchemaPropsOrStringArray': {
    '': 'JSONSchemaPropsOrStringArray is a schema, or a list of names of fields.',
  },
};

/** Gantry's own description of a type or a field. */
export function typeText(schema: string, field: string): string | undefined {
  const texts = Object.hasOwn(TYPE_TEXTS, schema) ? TYPE_TEXTS[schema] : undefined;
  return texts !== undefined && Object.hasOwn(texts, field) ? texts[field] : undefined;
}
