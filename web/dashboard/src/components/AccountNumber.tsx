import { inFours } from './account-number'
import './AccountNumber.css'

/** Shows an account number in groups of four. The gaps are margins, so that copying the text yields the plain number. */
export function AccountNumber({ account }: { readonly account: string }) {
  const groups = inFours(account).map((group, index) => ({ group, key: index * 4 }))
  return (
    <span className="AccountNumber">
      {groups.map(({ group, key }) => (
        <span key={key} className="AccountNumber-group">
          {group}
        </span>
      ))}
    </span>
  )
}
