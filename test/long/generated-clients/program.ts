import {
  CallbackFromJSON,
  Configuration,
  FailureFromJSON,
  MerchantAPIApi,
  QueriesApi,
  type ResponseError,
  SettlementApi,
} from './index'

const { BASE_URL, WEB_API_KEY, SETTLEMENT_KEY, REFERENCE, DEPOSIT_HASH, WITHDRAWAL_HASH, CALLBACK, NEWER_CALLBACK } =
  process.env as { readonly [name: string]: string }

const configuration = new Configuration({ basePath: BASE_URL!, apiKey: WEB_API_KEY! })
const merchant = new MerchantAPIApi(configuration)
const queries = new QueriesApi(configuration)
const settlement = new SettlementApi(new Configuration({ basePath: BASE_URL!, apiKey: SETTLEMENT_KEY! }))

const customer = { userId: '8412', name: 'Ada Lovelace', username: 'ada', paymentMethod: 1, amount: 100.5 }

/** Creates the deposit, and returns the result or the error code. */
async function deposit(referenceId: string) {
  const request = { ...customer, referenceId, transactionType: 1, hashCode: DEPOSIT_HASH! } as const
  return (await merchant.createNativeDeposit({ createNativeDepositRequest: request })).result
}

async function refusalOf(work: Promise<unknown>) {
  try {
    await work
    return undefined
  } catch (error) {
    return FailureFromJSON(await (error as ResponseError).response.json()).error.code
  }
}

/** Reads the feed until it contains the completion of the transfer, and returns the types of the transfer's events. */
async function feedOf(trackingId: string) {
  const types: string[] = []
  let after: string | undefined
  while (!types.includes('TransferCompleted')) {
    const page = await queries.listEvents({ after })
    types.push(...page.items.filter((each) => each.trackingId === trackingId).map(({ type }) => type))
    after = page.next ?? undefined
  }
  return types
}

async function callbacksOf(trackingId: string) {
  for (;;) {
    const { items } = await queries.getTransferCallbacks({ trackingId })
    if (items.length > 0) return items
  }
}

async function main() {
  const created = await deposit(REFERENCE!)
  const { trackingId } = created
  const repeated = await deposit(REFERENCE!)
  const refused = await refusalOf(deposit('another'))

  const login = { trackingId, userName: 'test@wallet.example', password: '123456' }
  const { result: token } = await merchant.walletCustomerLogin({ walletLoginRequest: login })
  const { result: verified } = await merchant.wallet2Fa({ walletCodeRequest: { trackingId, token, code: '123456' } })
  const completed = await queries.getTransfer({ trackingId })
  const { items: listed } = await queries.listTransfers({ referenceId: REFERENCE!, status: 'Completed' })
  const feed = await feedOf(trackingId)
  const callbacks = await callbacksOf(trackingId)
  const resent = await queries.resendTransferCallbacksRaw({ trackingId })

  const withdrawal = {
    ...customer,
    referenceId: `${REFERENCE}-out`,
    transactionType: 2,
    hashCode: WITHDRAWAL_HASH!,
    accountNumber: 'TR330006100519786457841326',
    identityNumber: null,
  } as const
  const { result: open } = await merchant.createWithdrawal({ createWithdrawalRequest: withdrawal })
  const { revision } = await queries.getTransfer(open)
  const claimed = await settlement.claimWithdrawal({ ...open, withdrawalActionRequest: { revision } })
  const paid = await settlement.completeWithdrawal({
    ...open,
    completeWithdrawalRequest: { revision: claimed.revision, message: 'paid' },
  })

  const callback = CallbackFromJSON(JSON.parse(CALLBACK!))
  return {
    created: created.statusDescription,
    amount: created.amount,
    repeated: repeated.trackingId === trackingId,
    refused,
    nextStep: verified.nextStep,
    accountNumber: verified.accountNumber,
    completed: [completed.status, completed.statusDescription, completed.transactionAmount],
    listed: listed.map((each) => each.trackingId === trackingId),
    feed,
    callbacks: callbacks.length,
    resent: [resent.raw.status, (await resent.value()).requeued],
    withdrawal: [paid.statusDescription, paid.identityNumber, paid.transactionAmount],
    callback: [callback.status, callback.amount, callback.message],
    newerCallback: CallbackFromJSON(JSON.parse(NEWER_CALLBACK!)).amount,
  }
}

main().then((result) => console.log(JSON.stringify(result)))
