import { ChangePassword } from './ChangePassword'
import { EntryLayout } from './EntryLayout'
import { useDocumentTitle } from './page-title'
import { SignOut } from './SignOut'
import { useText } from './texts'

/** Shown after a sign-in with a temporary password, which allows only choosing a new one. */
export function FirstPassword() {
  const text = useText()
  useDocumentTitle(text('shell.choosePassword'))
  return (
    <EntryLayout>
      <h1>{text('shell.choosePassword')}</h1>
      <p>{text('shell.choosePasswordHelp')}</p>
      <ChangePassword currentLabel={text('shell.temporaryPassword')} />
      <SignOut />
    </EntryLayout>
  )
}
