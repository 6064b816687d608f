import type { Static } from '@sinclair/typebox'
import type * as schemas from '../../../../src/http/dashboard/api'
import type * as audit from '../../../../src/http/dashboard/audit/audit-api'
import type * as operations from '../../../../src/http/dashboard/operations/operations-api'
import type * as privacy from '../../../../src/http/dashboard/privacy/privacy-api'

export type { Permission, Role } from '../../../../src/domain/user/permissions'
export type { PayoutTab, Session, TransferAction } from '../../../../src/http/dashboard/api'

type Schemas = typeof schemas

export type SignInRequest = Static<Schemas['SignInRequest']>
export type ConfirmRequest = Static<Schemas['ConfirmRequest']>
export type ChangePasswordRequest = Static<Schemas['ChangePasswordRequest']>
export type SessionItem = Static<Schemas['SessionItem']>
export type SessionsResponse = Static<Schemas['SessionsResponse']>
export type SecondFactorOffer = Static<Schemas['SecondFactorOffer']>
export type SecondFactorCode = Static<Schemas['SecondFactorCode']>
export type RecoveryCodes = Static<Schemas['RecoveryCodes']>
export type UserItem = Static<Schemas['UserItem']>
export type UsersResponse = Static<Schemas['UsersResponse']>
export type CreateUserRequest = Static<Schemas['CreateUserRequest']>
export type ChangeRoleRequest = Static<Schemas['ChangeRoleRequest']>
export type IssuedPassword = Static<Schemas['IssuedPassword']>
export type TransfersResponse = Static<Schemas['TransfersResponse']>
export type TransfersSum = Static<Schemas['TransfersSum']>
export type ClaimView = Static<Schemas['ClaimView']>
export type TransferRow = Static<Schemas['TransferRow']>
export type TransferDetail = Static<Schemas['TransferDetail']>
export type PlainAction = Static<Schemas['PlainAction']>
export type CompleteAction = Static<Schemas['CompleteAction']>
export type MessageAction = Static<Schemas['MessageAction']>
export type ReasonAction = Static<Schemas['ReasonAction']>
export type ReturnAction = Static<Schemas['ReturnAction']>
export type BulkResponse = Static<Schemas['BulkResponse']>
export type PayoutQueueResponse = Static<Schemas['PayoutQueueResponse']>
export type BankFileRequest = Static<Schemas['BankFileRequest']>
export type PayoutsResponse = Static<Schemas['PayoutsResponse']>
export type StoredReceipt = Static<Schemas['StoredReceipt']>
export type StoryItem = Static<Schemas['StoryItem']>
export type StoryResponse = Static<Schemas['StoryResponse']>
export type CallbackContent = Static<Schemas['CallbackContent']>
export type CallbacksResponse = Static<Schemas['CallbacksResponse']>
export type CallbackRow = Static<Schemas['CallbackRow']>
export type EndpointItem = Static<Schemas['EndpointItem']>
export type EndpointsResponse = Static<Schemas['EndpointsResponse']>
export type ResendRequest = Static<Schemas['ResendRequest']>
export type ResendResponse = Static<Schemas['ResendResponse']>
export type TestAnswer = Static<Schemas['TestAnswer']>
export type KeyItem = Static<Schemas['KeyItem']>
export type MerchantItem = Static<Schemas['MerchantItem']>
export type MerchantsResponse = Static<Schemas['MerchantsResponse']>
export type CreateMerchantRequest = Static<Schemas['CreateMerchantRequest']>
export type ChangeMerchantRequest = Static<Schemas['ChangeMerchantRequest']>
export type IssuedMerchant = Static<Schemas['IssuedMerchant']>
export type CreateKeyRequest = Static<Schemas['CreateKeyRequest']>
export type RotateRequest = Static<Schemas['RotateRequest']>
export type IssuedSecret = Static<Schemas['IssuedSecret']>
export type ChangesResponse = Static<Schemas['ChangesResponse']>
export type Bucket = Static<Schemas['Bucket']>
export type OverviewResponse = Static<Schemas['OverviewResponse']>
export type OpenResponse = Static<Schemas['OpenResponse']>
export type LiveMessage = Static<Schemas['LiveMessage']>
export type StatementResponse = Static<Schemas['StatementResponse']>
export type SearchResponse = Static<Schemas['SearchResponse']>
export type Status = TransferRow['status']
export type Kind = TransferRow['kind']

type Operations = typeof operations

export type FreshnessResponse = Static<Operations['FreshnessResponse']>
export type ProjectionsResponse = Static<Operations['ProjectionsResponse']>
export type ProjectionItem = Static<Operations['ProjectionItem']>
export type ProjectionTask = Static<Operations['ProjectionTask']>
export type ProjectionComparison = Static<Operations['ProjectionComparison']>
export type ProjectionAction = ProjectionItem['actions'][number]
export type RebuildRequest = Static<Operations['RebuildRequest']>
export type PauseRequest = Static<Operations['PauseRequest']>
export type ProblemItem = Static<Operations['ProblemItem']>
export type ProblemsResponse = Static<Operations['ProblemsResponse']>
export type SkipEventRequest = Static<Operations['SkipEventRequest']>
export type SkipEventResponse = Static<Operations['SkipEventResponse']>
export type NodeItem = Static<Operations['NodeItem']>
export type LeaseItem = Static<Operations['LeaseItem']>
export type NodesResponse = Static<Operations['NodesResponse']>
export type StuckItem = Static<Operations['StuckItem']>
export type StuckResponse = Static<Operations['StuckResponse']>
export type ChecksResponse = Static<Operations['ChecksResponse']>
export type Check = Static<Operations['CheckItem']>

export type AuditStoryItem = Static<typeof audit.AuditStoryItem>
export type AuditStory = Static<typeof audit.AuditStoryResponse>
export type AuditState = Static<typeof audit.AuditStateResponse>
export type AuditAction = Static<typeof audit.AuditAction>
export type AuditActions = Static<typeof audit.AuditActionsResponse>
export type AuditManifest = Static<typeof audit.AuditManifestResponse>
export type AuditFinding = Static<typeof audit.AuditFinding>
export type AuditVerification = Static<typeof audit.AuditVerification>
export type AuditIntegrity = Static<typeof audit.AuditIntegrityResponse>
export type AuditVerify = Static<typeof audit.AuditVerifyResponse>
export type ResumePayouts = Static<typeof audit.ResumePayoutsResponse>
export type ResumePayoutsBody = Static<typeof audit.ResumePayoutsBody>

type Privacy = typeof privacy

export type PrivacyStatus = Static<Privacy['PrivacyStatusResponse']>
export type CustomerRequest = Static<Privacy['CustomerRequest']>
export type EraseCustomerRequest = Static<Privacy['EraseCustomerRequest']>
export type Erasure = Static<Privacy['ErasureResponse']>
