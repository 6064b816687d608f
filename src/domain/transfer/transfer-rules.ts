/** The rules of transfers and payouts. */
export const transferRules = {
  // Transfers
  'unknown-transfer': 'Transfer not found.',
  'reference-reused': 'This referenceId was already used with different content.',
  'hash-reused': 'This hashCode was already used for a different request.',
  'changed-meanwhile': 'This has changed since you read it, so your action was not carried out. {changes}',
  'deposit-required': 'This is possible only for a deposit.',
  'withdrawal-required': 'This is possible only for a withdrawal.',
  'status-final': 'The transfer is {status}, which is a final status.',
  'booking-final':
    'The transfer was completed with {booked}. It cannot be completed with {amount} as well. If this is the right amount, correct it.',
  'amount-needed': 'None of the received money is left. Specify the amount to complete the transfer.',
  'reason-needed': '{left} of the received money is left. Give a reason to complete with a different amount.',
  'confirmation-needed':
    'The requested amount is {requested}. To continue with {amount}, repeat it as the confirmed amount.',
  'confirmation-differs': 'The confirmed amount is {confirmed}, but the amount is {amount}.',
  'manual-payment-required':
    'The customer pays this deposit from a wallet, which reports the money. Only a deposit that is paid manually receives payments.',
  'payment-recorded': 'A payment of {received} with the reference {reference} is already recorded.',
  'too-many-payments': 'A deposit cannot receive more than {most} payments.',
  'not-completed': 'The transfer is {status}. Only a completed transfer can be corrected.',
  'correction-recorded': 'A correction to {corrected} with the reference {reference} is already recorded.',
  'correction-too-late': 'A transfer can be corrected for {days} days after its completion. This ended at {until}.',
  'too-many-corrections': 'A transfer can have at most {most} corrections and proposals.',
  'no-correction-proposed': 'No correction is proposed.',
  'proposal-differs': 'The proposed correction is {proposed}, not {amount}.',
  'correction-four-eyes': 'A correction cannot be proposed and approved by the same user.',
  'receipt-reused': 'A return of {returned} with this receipt is already recorded.',
  'nothing-to-return': 'Nothing to return.',
  'return-too-large': 'Only {left} can be returned.',
  'not-reopenable': 'Only a cancelled or failed deposit can be reopened.',
  'method-unavailable': '{field} is not a payment method for a {kind}.',
  // Withdrawals
  'payouts-stopped': 'Payouts are stopped. An administrator must resume them.',
  'claim-needed': 'Claim the withdrawal before you settle it.',
  'claim-expired':
    'Your claim expired at {until}. Claim the withdrawal again. If you have already paid it, complete it then.',
  'claimed-by-another': '{by} has claimed the withdrawal until {until}.',
  'held-in-bank-file': '{by} holds the withdrawal, because it is in the bank file {file}.',
  'in-bank-file':
    '{by} put the withdrawal into the bank file {file} at {done}. The bank may have paid it. To put it into another file, name this file and give a reason.',
  'in-manual-control':
    'The withdrawal is in manual control. Review it, then settle it alone or include manual control.',
  'done-before': '{by} already did this at {done}. Nothing was changed.',
  'claim-limit': 'You have claimed or approved the withdrawal {most} times. Another user must settle it.',
  'four-eyes': 'A withdrawal cannot be approved and paid by the same user.',
  'approval-needed': 'Another user must first approve a payment of {amount} to this account.',
  'limit-exceeded':
    'Another user must first approve a payment of {amount} to this account, because it is beyond a limit: {exceeded}.',
  'approval-not-needed': 'This withdrawal needs no approval.',
  'sepa-euros-only': 'A SEPA file contains euros, but the currency of the service is {currency}.',
  'sepa-amount-too-large': 'The amount is above {largest}, the largest SEPA payment.',
  'account-not-iban': 'The account number is not a valid IBAN.',
  'iban-not-sepa': 'SEPA payments cannot reach the country {country}.',
  'qr-iban': 'SEPA payments cannot use a QR-IBAN. Use the ordinary IBAN of the account.',
  'name-not-payable': 'The name must contain a letter or digit that banks accept in payments in {currency}.',
} as const
