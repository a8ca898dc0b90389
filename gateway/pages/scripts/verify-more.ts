// /verify: the verifiers of all documents, which the page loads for a document that its first script does not check.

export { verifiers } from '../../../plugins/verifiers.ts';
