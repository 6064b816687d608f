import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { violate } from '../../../domain/decider.js'
import { transferStream } from '../../../domain/streams.js'
import { storedTrackingId } from '../../query-parameters.js'
import { accepted, RequestError } from '../../refusals.js'
import { TransferParams as params } from '../api.js'
import { sendFile, withoutHead } from '../downloads.js'
import { actorNames, userContext } from '../session-guard.js'
import {
  AuditEvidenceResponse,
  CreateEvidenceBody,
  DecideDisclosureBody,
  DisclosureResponse,
  RequestDisclosureBody,
} from './audit-api.js'
import { checkedReason } from './audit-reason.js'

/** Adds the routes that create evidence packages and decide about their personal data. */
export const auditEvidenceRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { eventStore, evidence } = app.services
  const { commands } = evidence
  const { viewers } = app
  const create = viewers.allow('audit:evidence')

  app.get('/audit/evidence/:trackingId', create({ params }, AuditEvidenceResponse), async (request) => {
    const found = await commands.disclosure(storedTrackingId(request.params.trackingId))
    const nameOf = actorNames(request)
    const disclosure = found && {
      ...found,
      byName: nameOf(found.by),
      decidedByName: found.decidedBy && nameOf(found.decidedBy),
    }
    return { disclosure }
  })
  const file = { ...withoutHead, ...create({ params, body: CreateEvidenceBody }) }
  app.post('/audit/evidence/:trackingId', file, async (request, reply) => {
    const trackingId = storedTrackingId(request.params.trackingId)
    const { requestId } = request.body
    const disclosure = requestId === undefined ? null : await commands.disclosure(trackingId)
    if (requestId !== undefined && disclosure?.requestId !== requestId) throw new RequestError('unknown-disclosure')
    const made = await evidence.create({ trackingId, disclose: disclosure?.disclose ?? [] }, userContext(request))
    if (made.outcome === 'unknown') throw new RequestError('unknown-transfer')
    if (made.outcome === 'not-sealed') throw new RequestError('not-sealed')
    if (made.outcome === 'unverified')
      throw new RequestError('not-verified', { violation: violate('not-verified', { problem: made.reason }) })
    const { bytes } = accepted('disclosure', made)
    return sendFile(reply, `transfer_evidence_${trackingId}.zip`, 'application/zip', bytes)
  })
  const disclose = create({ params, body: RequestDisclosureBody }, DisclosureResponse)
  app.post('/audit/evidence/:trackingId/disclosure', disclose, async (request) => {
    const trackingId = storedTrackingId(request.params.trackingId)
    const reason = checkedReason(request.body.reason)
    const [created] = await eventStore.readStream(transferStream(trackingId), { maxCount: 1 })
    if (!created) throw new RequestError('unknown-transfer')
    const result = await commands.request(trackingId, request.body.disclose, reason, userContext(request))
    return { changed: accepted('disclosure', result, actorNames(request)).changed }
  })
  const decide = viewers.allow('privacy:manage')({ params, body: DecideDisclosureBody }, DisclosureResponse)
  app.post('/audit/evidence/:trackingId/disclosure/decision', decide, async (request) => {
    const { requestId, approve } = request.body
    const trackingId = storedTrackingId(request.params.trackingId)
    const decision = approve ? 'Approve' : 'Reject'
    const result = await commands.decide(trackingId, requestId, decision, userContext(request))
    return { changed: accepted('disclosure', result, actorNames(request)).changed }
  })
}
