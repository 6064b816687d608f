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
export type SessionsAnswer = Static<Schemas['SessionsAnswer']>
export type SecondFactorOffer = Static<Schemas['SecondFactorOffer']>
export type SecondFactorCode = Static<Schemas['SecondFactorCode']>
export type RecoveryCodes = Static<Schemas['RecoveryCodes']>
export type UserItem = Static<Schemas['UserItem']>
export type UsersAnswer = Static<Schemas['UsersAnswer']>
export type CreateUserRequest = Static<Schemas['CreateUserRequest']>
export type ChangeRoleRequest = Static<Schemas['ChangeRoleRequest']>
export type IssuedPassword = Static<Schemas['IssuedPassword']>
export type TransfersAnswer = Static<Schemas['TransfersAnswer']>
export type TransfersSum = Static<Schemas['TransfersSum']>
export type ClaimView = Static<Schemas['ClaimView']>
export type TransferRow = Static<Schemas['TransferRow']>
export type TransferDetail = Static<Schemas['TransferDetail']>
export type PlainAction = Static<Schemas['PlainAction']>
export type CompleteAction = Static<Schemas['CompleteAction']>
export type MessageAction = Static<Schemas['MessageAction']>
export type ReasonAction = Static<Schemas['ReasonAction']>
export type ReturnAction = Static<Schemas['ReturnAction']>
export type BulkAnswer = Static<Schemas['BulkAnswer']>
export type PayoutQueueAnswer = Static<Schemas['PayoutQueueAnswer']>
export type BankFileRequest = Static<Schemas['BankFileRequest']>
export type PayoutsAnswer = Static<Schemas['PayoutsAnswer']>
export type StoredReceipt = Static<Schemas['StoredReceipt']>
export type StoryItem = Static<Schemas['StoryItem']>
export type StoryAnswer = Static<Schemas['StoryAnswer']>
export type CallbackContent = Static<Schemas['CallbackContent']>
export type CallbacksAnswer = Static<Schemas['CallbacksAnswer']>
export type CallbackRow = Static<Schemas['CallbackRow']>
export type EndpointItem = Static<Schemas['EndpointItem']>
export type EndpointsAnswer = Static<Schemas['EndpointsAnswer']>
export type ResendRequest = Static<Schemas['ResendRequest']>
export type ResendAnswer = Static<Schemas['ResendAnswer']>
export type TestAnswer = Static<Schemas['TestAnswer']>
export type KeyItem = Static<Schemas['KeyItem']>
export type MerchantItem = Static<Schemas['MerchantItem']>
export type MerchantsAnswer = Static<Schemas['MerchantsAnswer']>
export type CreateMerchantRequest = Static<Schemas['CreateMerchantRequest']>
export type ChangeMerchantRequest = Static<Schemas['ChangeMerchantRequest']>
export type IssuedMerchant = Static<Schemas['IssuedMerchant']>
export type CreateKeyRequest = Static<Schemas['CreateKeyRequest']>
export type RotateRequest = Static<Schemas['RotateRequest']>
export type IssuedSecret = Static<Schemas['IssuedSecret']>
export type ChangesAnswer = Static<Schemas['ChangesAnswer']>
export type Bucket = Static<Schemas['Bucket']>
export type OverviewAnswer = Static<Schemas['OverviewAnswer']>
export type OpenAnswer = Static<Schemas['OpenAnswer']>
export type LiveMessage = Static<Schemas['LiveMessage']>
export type StatementAnswer = Static<Schemas['StatementAnswer']>
export type SearchAnswer = Static<Schemas['SearchAnswer']>
export type Status = TransferRow['status']
export type Kind = TransferRow['kind']

type Operations = typeof operations

export type FreshnessAnswer = Static<Operations['FreshnessAnswer']>
export type ProjectionsAnswer = Static<Operations['ProjectionsAnswer']>
export type ProjectionItem = Static<Operations['ProjectionItem']>
export type ProjectionTask = Static<Operations['ProjectionTask']>
export type ProjectionComparison = Static<Operations['ProjectionComparison']>
export type ProjectionAction = (typeof operations.projectionActions)[number]
export type RebuildRequest = Static<Operations['RebuildRequest']>
export type PauseRequest = Static<Operations['PauseRequest']>
export type ProblemItem = Static<Operations['ProblemItem']>
export type ProblemsAnswer = Static<Operations['ProblemsAnswer']>
export type SkipEventRequest = Static<Operations['SkipEventRequest']>
export type SkipEventAnswer = Static<Operations['SkipEventAnswer']>
export type NodeItem = Static<Operations['NodeItem']>
export type LeaseItem = Static<Operations['LeaseItem']>
export type NodesAnswer = Static<Operations['NodesAnswer']>
export type StuckItem = Static<Operations['StuckItem']>
export type StuckAnswer = Static<Operations['StuckAnswer']>
export type ChecksAnswer = Static<Operations['ChecksAnswer']>
export type Check = Static<Operations['CheckItem']>

export type AuditStoryItem = Static<typeof audit.AuditStoryItem>
export type AuditStory = Static<typeof audit.AuditStoryAnswer>
export type AuditState = Static<typeof audit.AuditStateAnswer>
export type AuditAction = Static<typeof audit.AuditAction>
export type AuditActions = Static<typeof audit.AuditActionsAnswer>
export type AuditManifest = Static<typeof audit.AuditManifestAnswer>
export type AuditFinding = Static<typeof audit.AuditFinding>
export type AuditVerification = Static<typeof audit.AuditVerification>
export type AuditIntegrity = Static<typeof audit.AuditIntegrityAnswer>
export type AuditVerify = Static<typeof audit.AuditVerifyAnswer>
export type ResumePayouts = Static<typeof audit.ResumePayoutsAnswer>
export type ResumePayoutsBody = Static<typeof audit.ResumePayoutsBody>

type Privacy = typeof privacy

export type PrivacyStatus = Static<Privacy['PrivacyStatusAnswer']>
export type CustomerRequest = Static<Privacy['CustomerRequest']>
export type EraseCustomerRequest = Static<Privacy['EraseCustomerRequest']>
export type Erasure = Static<Privacy['ErasureAnswer']>
