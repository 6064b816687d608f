import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createFailures } from '../envelope.js'
import { jsonTypes } from '../server/json-bodies.js'
import {
  CreatedEnvelope,
  HostedDepositAnswer,
  HostedDepositRequest,
  NativeDepositRequest,
  WithdrawalRequest,
} from './create-schemas.js'
import { Creates, type CreatesOptions } from './creates.js'

export type MerchantApiOptions = CreatesOptions

/** Adds the specification's three creates (Endpoints 1 to 3). */
export const merchantApi: FastifyPluginAsyncTypebox<MerchantApiOptions> = async (app, options) => {
  const creates = new Creates(options, app)
  const common = { tags: ['Merchant API'], consumes: jsonTypes }

  app.route({
    method: 'POST',
    url: '/Transaction/CreateDeposit',
    ...app.gate.acceptKey('deposits'),
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createHostedDeposit',
      summary: 'Create a hosted deposit',
      description:
        'Redirect the customer to the `url` of the response. Without a WebApiKey, the allow-list and the SecretKey of the hashCode identify the merchant.',
      security: [{}, { WebApiKey: [] }],
      body: HostedDepositRequest,
      response: { 200: HostedDepositAnswer, ...createFailures },
    },
    handler: (request) => creates.hosted(request),
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/CreateDeposit',
    ...app.gate.requireKey('deposits'),
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createNativeDeposit',
      summary: 'Create a native deposit',
      body: NativeDepositRequest,
      response: { 200: CreatedEnvelope, ...createFailures },
    },
    handler: (request) => creates.native(request),
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/CreateWithdraw',
    ...app.gate.requireKey('withdrawals'),
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createWithdrawal',
      summary: 'Create a withdrawal',
      body: WithdrawalRequest,
      response: { 200: CreatedEnvelope, ...createFailures },
    },
    handler: (request) => creates.withdrawal(request),
  })
}
