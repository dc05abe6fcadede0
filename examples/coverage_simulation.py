"""Coverage simulation: what voting does to 1,000 four-way questions, and what it cannot do.

800 questions are honest: a call that answers is right with probability 0.6 and spreads its errors over the other three
options. 200 are traps: a call prefers one wrong answer. One reply in ten holds no JSON.
"""

from collections.abc import Mapping

from consilience import vote
from consilience.testing import NoisySampler

QUESTIONS = 1000
RIGHT, TRAP, OTHER, LAST = "ABCD"
HONEST = {RIGHT: 0.6, TRAP: 0.4 / 3, OTHER: 0.4 / 3, LAST: 0.4 / 3}
TRAPPED = {RIGHT: 0.3, TRAP: 0.6, OTHER: 0.05, LAST: 0.05}
NO_JSON = 0.1


def is_trap(question: int) -> bool:
    return question % 5 == 0


def replies(question: int) -> Mapping[str, float]:
    chances = TRAPPED if is_trap(question) else HONEST
    answers = {f'{{"answer": "{letter}"}}': chance * (1 - NO_JSON) for letter, chance in chances.items()}
    return {**answers, "I am not sure.": NO_JSON}


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%"


def main() -> None:
    print(" n  coverage  accuracy when answered  wrong: honest  wrong: traps")
    for n in (1, 3, 5, 7):
        sampler = NoisySampler(replies, seed=7)
        answered = right = wrong_honest = wrong_traps = 0
        for question in range(QUESTIONS):
            result = vote(sampler, question, n=n, key="answer")
            if result.abstained:
                continue
            answered += 1
            right += result.value == RIGHT
            wrong_traps += result.value != RIGHT and is_trap(question)
            wrong_honest += result.value != RIGHT and not is_trap(question)
        coverage, accuracy = percent(answered, QUESTIONS), percent(right, answered)
        print(f"{n:>2}  {coverage:>8}  {accuracy:>22}  {wrong_honest:>13}  {wrong_traps:>12}")


if __name__ == "__main__":
    main()
