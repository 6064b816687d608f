/**
 * The server's sentences about a field, by what they say. They are English for whoever calls the API; pages have words of their own for
 * these. test/dashboard/server-words.test.ts takes them from the server, so that neither changes alone.
 */
const fieldSentences: readonly (readonly [RegExp, string])[] = [
  [/ is required$/, 'required'],
  [/ (?:must not be blank|must not be blank and have no control characters)$/, 'blank'],
  [/ must have no control(?:, invisible or direction-changing)? characters\.?$/, 'hidden'],
  [/ must NOT have fewer than (?<count>\d+) characters$/, 'tooShort'],
  [/ must NOT have more than (?<count>\d+) characters$/, 'tooLong'],
  [/ must have at least (?<count>\d+) characters\.?$/, 'tooShort'],
  [/ must have at most (?<count>\d+) characters\.?$/, 'tooLong'],
  [/ must be 1 to (?<count>\d+) characters(?:, all of them visible)?\.$/, 'oneTo'],
  [/ must be (?:>=|above or equal to) (?<least>\d+)$/, 'least'],
  [/ must be <= (?<most>\d+)$/, 'most'],
  [/^It must be a whole number from (?<least>\d+) to (?<most>\d+)\.$/, 'between'],
  [/^It must be at most (?<most>[\d.]+)\.$/, 'most'],
  [/^It must be above 0\.$/, 'aboveNothing'],
  [/^It must not be below 0\.$/, 'notBelowNothing'],
  [/^The smallest amount must not be above the largest\.$/, 'smallestAboveLargest'],
  [/ must be whole: (?<currency>[A-Z]{3}) has no decimals\.?$/, 'whole'],
  [/ must be an http or https URL$/, 'webAddress'],
  [/ must start with https:\/\/(?: or http:\/\/)?\.$/, 'webAddress'],
  [/ must be an ISO 8601 date, or a time with its zone$/, 'moment'],
  [/ has passed already$/, 'past'],
  [/ must be after from$/, 'afterFrom'],
  [/ must be at most 400 days after from$/, 'tooLongAgo'],
  [/ must be 1 to 64 of A-Z a-z 0-9 \. _ -$/, 'keyName'],
  [/ must not be one character again and again\.?$/, 'oneCharacter'],
  [/ must not be the e-mail\.?$/, 'isEmail'],
  [/ must be another one\.?$/, 'samePassword'],
  [/^The (?:callback|return) URL is not a URL\.$/, 'webAddress'],
  [/^The callback URL is longer than (?<count>\d+) characters\.$/, 'tooLong'],
  [/^The (?:callback|return) URL must not carry a user name or password\.$/, 'noCredentials'],
  [/^The callback URL must lead to a public address\.$/, 'publicAddress'],
  [/^(?<range>".*") is no IP address or CIDR range\.$/, 'ipRange'],
  [/^At most (?<most>\d+) origins may frame the page\.$/, 'mostOrigins'],
  [/^A frame ancestor must be an origin such as /, 'origin'],
  [/^There can be instructions for (?<most>\d+) payment methods\.$/, 'mostInstructions'],
  [/^There are instructions for one payment method twice\.$/, 'instructionsTwice'],
  [/ is no manual payment method of the catalogue \(PAYMENT_METHODS\)\.$/, 'noManualMethod'],
  [/^The e-mail is not an e-mail address\.$/, 'email'],
  [/^The code is wrong\.$/, 'wrongCode'],
  [/^There is no such merchant\.$/, 'noMerchant'],
  [/^The role (?<role>\w+) is for all merchants\.$/, 'forAllMerchants'],
  [/^The role (?<role>\w+) needs one or more merchants\.$/, 'needsMerchants'],
  [/^A SEPA file holds euros, and this service has (?<currency>\S+)\.$/, 'eurosOnly'],
  [/^A SEPA file needs the account that pays\.$/, 'required'],
  [/^The account that pays is no IBAN\.$/, 'iban'],
  [/^The BIC is none\.$/, 'bic'],
]

export interface Words {
  /** A key in errors.json. */
  readonly id: string
  readonly values: Readonly<Record<string, string>>
}

/** Undefined for what is said in no words of ours. */
export function fieldWords(sentence: string): Words | undefined {
  for (const [form, name] of fieldSentences) {
    const match = form.exec(sentence)
    if (match) return { id: `errors.field.${name}`, values: { ...match.groups } }
  }
  return undefined
}

/** The server's reasons beside a refusal. Values that are named `at` or `until` are times, and `amount` and `other` amounts. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^(?<name>.+) claimed it until (?<until>\S+Z)\.$/, 'claimed'],
  [/^There is no such revision of it yet\.$/, 'noRevision'],
  [/^Whoever approved a withdrawal does not (?:pay|complete) it\.$/, 'approverPays'],
  [/^Whoever claimed a withdrawal does not approve it\.$/, 'claimantApproves'],
  [/^This withdrawal needs no approval\.$/, 'noApprovalNeeded'],
  [/^Payouts are stopped, /, 'payoutsStopped'],
  [/^To settle a withdrawal, claim it first\.$/, 'claimFirst'],
  [/^Your claim ended at (?<at>\S+): claim it again before you go on\.$/, 'claimEnded'],
  [/^Somebody else must approve (?<amount>\S+) to this account before it is completed\.$/, 'approvalNeeded'],
  [/^The transfer is (?<status>\w+), which is final(?:\.|; it cannot become .+\.)$/, 'final'],
  [
    /^The transfer is Completed with (?<amount>\S+), which is final; (?<other>\S+) cannot be booked instead\.$/,
    'booked',
  ],
  [/^Only a withdrawal is claimed and approved\.$/, 'withdrawalsOnly'],
  [/^It was claimed and approved (?<count>\d+) times: only the operator can settle it\.$/, 'tooManyClaims'],
  [/^It is paid already\.$/, 'paidAlready'],
  [/^It is no withdrawal\.$/, 'withdrawalsOnly'],
  [/^Its account is no IBAN\.$/, 'accountNoIban'],
  [/^Its amount is above (?<amount>\S+)\.$/, 'amountAbove'],
  [/^Only the money of a deposit is given back\.$/, 'depositsOnly'],
  [/^With this receipt (?<amount>\S+) was returned before\.$/, 'returnedBefore'],
  [/^There is no money to give back\.$/, 'nothingToReturn'],
  [/^Only (?<amount>\S+) is there to give back\.$/, 'lessToReturn'],
  [/^Only a cancelled or failed deposit can be reopened\.$/, 'notReopened'],
  [/^Nothing is left of what was received: to complete, name the amount\.$/, 'nameAmount'],
  [/^Of what was received (?<amount>\S+) is left: another amount needs a reason\.$/, 'giveReason'],
  [/^The confirmed amount is (?<other>\S+) and not (?<amount>\S+)\.$/, 'otherConfirmed'],
  [
    /^The requested amount is (?<other>\S+): to complete with (?<amount>\S+), give it as the confirmed amount, too\.$/,
    'confirmAmount',
  ],
  [/^It needs the permission (?<permission>\S+)\.$/, 'permission'],
  [/^This is the last administrator: make another one first\.$/, 'lastAdministrator'],
  [/^This email is already in use\.$/, 'emailTaken'],
  [/^There is no offer\.$/, 'noOffer'],
  [/^There is no such key\.$/, 'noKey'],
  [/^The merchant has a key of this name\.$/, 'keyNameTaken'],
  [/^A merchant has at most (?<count>\d+) keys\.$/, 'mostKeys'],
  [/^The key would have expired already\.$/, 'keyExpired'],
  [/^The event can be read\. Only an unreadable event can be skipped\.$/, 'readable'],
  [/^There is no event (?<event>.+)\.$/, 'noEvent'],
  [/^(?<stream>.+) is no stream of the service\.$/, 'noStream'],
  [/^(?<count>\d+) .+ are open already\.$/, 'openAlready'],
  [/^Each person may upload (?<count>\d+) MB of receipts a day\.$/, 'receiptsOfADay'],
  [/^no build waits for a switch$/, 'nothingBuilt'],
  [/^no build from before the last switch is kept$/, 'nothingKept'],
  [/^nothing is being done that could be cancelled$/, 'nothingDone'],
  [/^(?<projection>\S+) is busy: /, 'busy'],
]

/** What somebody did meanwhile, as src/http/settling-refusals.ts says it. */
const deeds: Readonly<Record<string, string>> = {
  'created it': 'created',
  'completed it': 'completed',
  'sent it to manual control': 'sentToManualControl',
  'cancelled it': 'cancelled',
  'said that it failed': 'failed',
  'recorded money': 'receivedFunds',
  'returned money': 'returnedFunds',
  'resolved it': 'resolved',
  'reopened it': 'reopened',
  'claimed it': 'claimedThen',
  'released it': 'released',
  'approved it': 'approved',
  'erased its customer': 'erased',
}
const deed = new RegExp(`(?<name>.+?) (?<did>${Object.keys(deeds).join('|')}) at (?<at>\\S+Z)\\.(?: |$)`, 'gy')

/** Beside a refusal: why, or who did what meanwhile. Undefined for what is said in no words of ours. */
export function detailWords(sentence: string): readonly Words[] | undefined {
  for (const [form, name] of reasons) {
    const match = form.exec(sentence)
    if (match) return [{ id: `errors.detail.${name}`, values: { ...match.groups } }]
  }
  const done = [...sentence.matchAll(deed)]
  if (done.map(([text]) => text).join('') !== sentence || done.length === 0) return undefined
  return done.map(({ groups }) => {
    const { name = '', did = '', at = '' } = groups ?? {}
    return { id: `errors.detail.${deeds[did]}`, values: { name, at } }
  })
}

/** Who did it, where it is said in words and is no name of a person: src/http/dashboard/transfers/transfer-row.ts. */
export function nameWords(name: string): Words | undefined {
  if (name === 'Somebody who is no user any more') return { id: 'errors.who.former', values: {} }
  if (name === 'The operator') return { id: 'errors.who.operator', values: {} }
  const [, merchant] = /^A program of (.+)$/s.exec(name) ?? []
  return merchant === undefined ? undefined : { id: 'errors.who.program', values: { merchant } }
}

/** Of a batch: the one that it is about, by its reference, and the reason. */
export function itemWords(sentence: string): { readonly reference: string; readonly reason: string } | undefined {
  const { reference, reason } = /^trackingIds (?<reference>\S+): (?<reason>.+)$/.exec(sentence)?.groups ?? {}
  return reference === undefined || reason === undefined ? undefined : { reference, reason }
}
